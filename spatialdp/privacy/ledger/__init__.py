"""What was ever published of these records: a durable account of everything spent, which refuses what is too much."""
