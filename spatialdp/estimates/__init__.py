"""Estimates: released numbers that answer boxes and know their own noise."""
