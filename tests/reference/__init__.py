"""Slow and obvious versions of what the package computes fast, to compare with."""
