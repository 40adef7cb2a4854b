"""The public frame of a release: coordinate systems, lattice, domains, grids, polygons. Nothing here sees a record."""
