"""One module for each command of `spatialdp`."""
