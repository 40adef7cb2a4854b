"""One page about a release for the person responsible for privacy: the promise, the spending, points to confirm."""
