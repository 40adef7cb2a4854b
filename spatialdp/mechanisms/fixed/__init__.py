"""Mechanisms whose structure is chosen in public."""
