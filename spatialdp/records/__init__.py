"""The only package that holds records."""
