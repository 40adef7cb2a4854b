"""Everything that turns private numbers and random bits into something that may be published."""
