"""Tests of numbers that answer boxes and know their noise."""
