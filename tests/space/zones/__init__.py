"""Tests of frames of zones."""
