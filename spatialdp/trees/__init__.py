"""Trees of lattice boxes: how they are stored, searched, fitted and adjusted. Nothing here sees a record."""
