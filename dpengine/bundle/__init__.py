"""Release bundles: write them, describe them, read them without trust, and verify them."""
