"""Tools that know neither space nor privacy."""
