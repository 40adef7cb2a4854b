"""Tests of the page about a release for the person responsible for privacy."""
