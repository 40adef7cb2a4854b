"""Linear transforms of a grid's axes, in exact integers: sums and differences of cells that are measured."""
