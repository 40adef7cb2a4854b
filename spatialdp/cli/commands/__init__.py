"""The commands of `spatialdp`, one module each."""
