"""How zones appear on maps."""
