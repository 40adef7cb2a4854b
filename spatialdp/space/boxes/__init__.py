"""Trees whose nodes are boxes of the lattice, and boxes and polygons that walk down them."""
