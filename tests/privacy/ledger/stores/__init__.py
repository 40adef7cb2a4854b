"""Tests of where ledgers are kept."""
