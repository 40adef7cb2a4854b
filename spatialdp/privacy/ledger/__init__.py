"""What was ever published of these records: a durable account of all spending, which refuses what exceeds its limit."""
