"""Tests of how errors are measured."""
