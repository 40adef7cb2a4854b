"""The allowance for uneven spread: how far answers are off because records are not evenly spread within cut cells."""
