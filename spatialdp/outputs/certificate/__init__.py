"""One page about a release for whoever answers for privacy: what is promised, what was spent, what people confirm."""
