"""Exact noise and exact private choice, from the operating system's randomness."""
