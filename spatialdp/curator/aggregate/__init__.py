"""Functions of a user's own, each run on blocks of records in processes of their own, and what is made of results."""
