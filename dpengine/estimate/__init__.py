"""Estimates, intervals and consistent counts from noisy measurements."""
