"""Tests of spatialdp.estimates.unevenness."""
