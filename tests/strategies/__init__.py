"""Tests of what to measure for a given workload."""
