"""The public frames of releases in files: domains, and zones with their rows."""
