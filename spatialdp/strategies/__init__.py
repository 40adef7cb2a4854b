"""Choosing what to measure for a given workload."""
