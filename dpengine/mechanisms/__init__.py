"""Private mechanisms beside noisy tables: single queries, online learning, and local privacy."""
