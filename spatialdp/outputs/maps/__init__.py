"""Draw releases as maps, and save the pictures."""
