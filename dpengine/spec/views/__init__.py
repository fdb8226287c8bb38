"""The display of a plan in a notebook."""
