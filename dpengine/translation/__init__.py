"""Texts and number formats in the reader's language."""
