"""Released trajectories."""
