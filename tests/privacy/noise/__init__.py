"""Tests of whatever turns private numbers and random bits into something publishable."""
