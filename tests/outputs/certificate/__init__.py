"""Tests of the page that whoever answers for privacy gets about a release."""
