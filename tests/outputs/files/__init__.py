"""Tests of files that hold a release."""
