"""The explorer's page, in node and in a browser."""
