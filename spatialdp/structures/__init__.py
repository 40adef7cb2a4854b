"""Structures: which sums of cells are measured, how far a record moves them, and how they are fitted."""
