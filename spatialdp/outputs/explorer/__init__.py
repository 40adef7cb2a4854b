"""Write releases as web pages to explore in a browser."""
