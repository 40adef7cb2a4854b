"""Releases of months as they come: what the curator of such a series holds between two months."""
