"""Counts of records that stay in a database or an engine, such as DuckDB or Spark; only this package imports Ibis."""
