"""What files, maps and pages need to know of tables: the map at one time, of one category."""
