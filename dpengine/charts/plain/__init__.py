"""Charts as plain HTML, for a first screen that does not wait for the library of all other charts."""
