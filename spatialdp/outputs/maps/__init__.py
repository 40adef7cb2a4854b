"""Releases as pictures."""
