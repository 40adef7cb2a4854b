"""The public frame: coordinate systems, lattice, domains, grids, polygons. Nothing is inferred from records."""
