"""Files of released tables: the complete one, rows for other programs, and synthetic records."""
