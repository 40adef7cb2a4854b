"""Which mechanism and which ε should be chosen? Errors to expect, computed before a record is read."""
