"""Records with a time and categories beside their place: the rows that a table counts."""
