"""Maps of lists: dots at the places of listed cells."""
