"""Displays for notebooks: HTML and pictures without scripts, in which every text is escaped."""
