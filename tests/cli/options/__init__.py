"""Tests of options that commands share."""
