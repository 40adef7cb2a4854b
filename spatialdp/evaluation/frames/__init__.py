"""Evaluations on frames that are no map: zones by level, and tables, which are space beside time and categories."""
