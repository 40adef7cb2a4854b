"""Speed and memory of spatialdp, mostly as ratios to another library or to plain NumPy, measured in the same run."""
