"""Files, maps and pages made from releases. Nothing here can reach a record."""
