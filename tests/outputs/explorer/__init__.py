"""Tests of how the explorer's page is put together; tests/browser/ has those of what it does."""
