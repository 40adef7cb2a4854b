"""Estimates of few of very many cells: those that were listed."""
