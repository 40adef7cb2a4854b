"""Tests of published methods to compare with."""
