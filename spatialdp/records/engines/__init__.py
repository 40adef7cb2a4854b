"""Counts of records that stay in a database or an engine such as DuckDB or Spark; the only package that imports Ibis."""
