"""Counts of public zones: their answers to zones, sets of zones and areas, and their noise."""
