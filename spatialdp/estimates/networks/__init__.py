"""Estimates by networks of attributes: noisy tables of each attribute and its parents, and the model they make."""
