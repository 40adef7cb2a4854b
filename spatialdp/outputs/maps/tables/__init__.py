"""Maps of tables: one for a time and a category, or several beside each other."""
