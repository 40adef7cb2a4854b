"""Tests of what is measured of a grid of counts."""
