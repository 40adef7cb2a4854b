"""Tests of each command."""
