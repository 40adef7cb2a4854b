"""How well synthetic trajectories tell what the true ones do."""
