"""Persons: who the records are about, and how much of each one is counted."""
