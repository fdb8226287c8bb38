"""Exact counts to noisy measurements: which marginals, with which part of ε, and by which mechanism."""
