"""The commands of `spatialdp ledger`."""
