"""What is measured: groups, sensitivities, the exact measurement and the fit."""
