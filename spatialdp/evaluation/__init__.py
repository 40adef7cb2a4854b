"""Compare releases with the true records. Every result of this package is as private as the records."""
