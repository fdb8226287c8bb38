"""Published tables as data frames, as Arrow, and in notebooks: the same for a release and for its bundle."""
