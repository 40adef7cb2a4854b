"""The public region: which cells belong to it, and shares of the cells on its border."""
