"""Files, maps and web pages of releases. No module here may import `spatialdp.records` or read a record."""
