"""Tests of the public region."""
