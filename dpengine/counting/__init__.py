"""Rows into exact integer tables: the only room that reads rows."""
