"""Records: reading, counting and exact answers. The only package that holds records."""
