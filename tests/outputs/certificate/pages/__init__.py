"""Tests of how pages are written."""
