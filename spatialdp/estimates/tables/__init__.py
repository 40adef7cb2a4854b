"""Released tables: estimates of space beside time and categories, and their noise."""
