"""Category columns and their levels."""
