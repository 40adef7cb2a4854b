"""Comparing releases with the truth. What this package returns is as private as the records."""
