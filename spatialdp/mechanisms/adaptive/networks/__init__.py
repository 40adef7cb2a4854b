"""PrivBayes: which attributes depend on which is chosen privately, then each is counted with its parents."""
