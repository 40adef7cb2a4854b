"""Evaluations of tables: space beside time and categories."""
