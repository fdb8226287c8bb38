"""Numeric columns: bins, grids and amounts."""
