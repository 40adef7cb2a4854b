"""Public frames of more than two dimensions: space beside time and categories, each a tree over its own cells."""
