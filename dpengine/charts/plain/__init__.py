"""Charts as plain HTML, for a screen that is to be there before what draws all other charts is loaded."""
