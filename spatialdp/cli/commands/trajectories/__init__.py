"""The command for trajectories."""
