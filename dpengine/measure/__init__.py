"""Exact counts into noisy measurements: which marginals, at which part of epsilon."""
