"""Tests of the repository as a whole: layers, style, documentation, scripts."""
