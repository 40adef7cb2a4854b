"""Tests of pictures of releases."""
