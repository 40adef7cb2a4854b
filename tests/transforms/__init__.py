"""Tests of linear maps of a grid's axes."""
