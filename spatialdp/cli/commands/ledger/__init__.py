"""The commands of `spatialdp ledger`, one module each."""
