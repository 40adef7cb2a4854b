"""Speed and memory, each as a ratio against a peer or a plain-numpy yardstick measured in the same run."""
