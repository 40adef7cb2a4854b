"""Tests of mechanisms whose structure follows the records, for a price."""
