"""Files of releases by networks."""
