"""What to measure of tables and of running totals."""
