"""Strategies: which sums of cells to measure, and with how much of the budget, for a given workload."""
