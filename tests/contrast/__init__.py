"""Tests of k-anonymous maps and tables, and of the attacks on them."""
