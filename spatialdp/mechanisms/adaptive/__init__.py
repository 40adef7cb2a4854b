"""Mechanisms whose structure depends on the records, and costs part of the budget."""
