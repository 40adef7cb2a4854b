"""Mechanisms that are made of others, at one cost."""
