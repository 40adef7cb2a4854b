"""Fields: the most accurate reading of an adaptive tree, on the cells of its grid."""
