"""File formats of points: each module reads one, and lets no record decide how others are read."""
