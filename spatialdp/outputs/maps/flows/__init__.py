"""Maps of flows."""
