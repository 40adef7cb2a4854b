"""Tests of what knows neither space nor privacy."""
