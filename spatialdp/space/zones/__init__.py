"""Public frames of zones: administrative areas, hexagons and whatever else divides a map into a hierarchy."""
