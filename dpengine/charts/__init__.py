"""Figures of releases and errors, for the pages and the report."""
