"""Tests of the only package that holds records."""
