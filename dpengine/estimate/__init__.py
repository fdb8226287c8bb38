"""Measurements into estimates, intervals and consistent counts."""
