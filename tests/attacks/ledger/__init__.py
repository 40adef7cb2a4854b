"""What befalls the ledger of a running curator: power cuts, full disks, and processes killed at any moment."""
