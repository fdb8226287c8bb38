"""Local privacy: people randomise their own answers before anyone collects them."""
