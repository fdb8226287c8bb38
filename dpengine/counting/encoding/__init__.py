"""Values into codes of cells: the same code for the same value, whichever engine encodes it."""
