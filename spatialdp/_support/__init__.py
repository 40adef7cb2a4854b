"""Small tools for the other packages. They know neither space nor privacy."""
