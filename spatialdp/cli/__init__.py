"""`spatialdp …` on the command line: one module a command, loaded when it is needed."""

from spatialdp.cli.main import main

__all__ = ["main"]
