"""Save releases as files, and load them again."""
