"""Tests of errors that are foreseen."""
