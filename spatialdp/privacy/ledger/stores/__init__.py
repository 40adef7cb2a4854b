"""Where the entries of a ledger are kept, so that none is lost and none is changed."""
