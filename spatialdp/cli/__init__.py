"""The command line `spatialdp`: each command has a module, which is loaded when the command runs."""

from spatialdp.cli.main import main

__all__ = ["main"]
