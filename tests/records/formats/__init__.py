"""Tests of the formats of points."""
