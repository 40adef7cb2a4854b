"""How the documentation is built: Markdown by MyST, reference from docstrings; warnings are errors (`make docs`)."""

from spatialdp import __version__

project = "spatialdp"
author = "the spatialdp authors"
version = release = __version__
project_copyright = "the spatialdp authors, Apache-2.0"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3  # so that pages may link to a heading of another
exclude_patterns: list[str] = []


autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say it in words
napoleon_google_docstring = False
napoleon_custom_sections = ["Privacy"]
napoleon_use_rtype = False
default_role = "py:obj"  # `Quadtree` in a docstring links to it

html_theme = "furo"
html_title = "spatialdp"
html_copy_source = False
html_show_sphinx = False
