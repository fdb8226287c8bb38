"""Tables: files, data frames, databases and other engines, opened so that their rows can be counted."""
