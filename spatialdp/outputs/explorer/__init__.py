"""Releases as pages to explore in a browser."""
