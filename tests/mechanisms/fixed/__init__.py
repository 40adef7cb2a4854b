"""Tests of mechanisms whose structure is public beforehand."""
