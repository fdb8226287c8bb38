"""What was spent: the ledger, its database, its hash chain, and the rules of composition."""
