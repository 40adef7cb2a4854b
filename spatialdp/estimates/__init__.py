"""Released numbers that answer boxes and know their noise."""
