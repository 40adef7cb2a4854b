"""Attacks from the literature, hostile files, and writing that is killed."""
