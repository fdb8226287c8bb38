"""Demonstrations of why differential privacy is needed: attacks and comparisons on public or made-up tables."""
