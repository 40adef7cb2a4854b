"""Boxes in level order, and the algebra on them."""
