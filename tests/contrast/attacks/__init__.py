"""Tests of attacks on k-anonymous maps and on private ones."""
