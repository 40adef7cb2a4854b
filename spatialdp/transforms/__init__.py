"""Linear maps of a grid's axes, in exact integers."""
