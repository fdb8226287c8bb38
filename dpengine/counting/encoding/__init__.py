"""Encode values as cell codes: the same code for the same value, whichever engine encodes it."""
