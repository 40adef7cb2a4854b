"""Tests of the public frame: domains, the lattice, boxes and polygons."""
