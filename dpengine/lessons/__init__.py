"""Why this is needed, shown on tables that are public or made up: lessons, which publish nothing."""
