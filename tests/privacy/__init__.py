"""Tests of budgets, neighbours, accounting and privacy statements."""
