"""What was spent: the ledger, its database and hash chain, and the rules of composition."""
