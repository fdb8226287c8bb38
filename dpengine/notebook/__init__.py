"""What notebooks show: HTML and pictures without scripts, in which every text is escaped."""
