"""Released models of trajectories."""
