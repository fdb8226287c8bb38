"""The public side of a release: columns and their cells, plans and single questions, read and checked."""
