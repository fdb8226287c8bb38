"""Synthetic rows that add up to the published counts."""
