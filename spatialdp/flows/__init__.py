"""Released flows between places."""
