"""Tests of what keeps foreign code within bounds."""
