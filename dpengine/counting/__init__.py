"""Exact counts: the only room that reads rows, which it turns into integer tables."""
