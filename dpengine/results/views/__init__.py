"""Published tables as frames, as Arrow and as what a notebook shows: alike for a release and for its bundle."""
