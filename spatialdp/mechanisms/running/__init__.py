"""Releases of one month after the other, and what the curator of such a series keeps between two months."""
