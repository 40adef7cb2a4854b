"""Tests: in the folders of the packages they are about, and a few of all of them at once."""
