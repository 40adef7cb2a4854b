"""Estimates of flows between places."""
