"""What a page is made of, and how it is written as HTML and as Markdown."""
