"""Tests of boxes in level order, and of the algebra on them."""
