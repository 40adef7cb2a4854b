"""Tests of the ledger: rules, entries, accounts, and what happens when things go wrong."""
