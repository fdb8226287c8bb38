"""Where rows are: files, data frames, databases and engines, opened as tables."""
