"""The record of spent ε: the ledger, its database and hash chain, and the rules of composition."""
