"""Commands that read no points: what a release will cost, which method and which ε to choose."""
