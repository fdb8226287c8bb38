"""Figures of a release and of its error, for the pages and the report."""
