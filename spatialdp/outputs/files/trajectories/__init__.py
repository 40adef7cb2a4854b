"""Files of synthetic trajectories."""
