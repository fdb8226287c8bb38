"""Tables wherever their rows are: in files, data frames, databases or other engines."""
