"""The public systems of cells that ways through a domain are told in."""
