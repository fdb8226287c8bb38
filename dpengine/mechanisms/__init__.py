"""Private mechanisms other than noisy tables: single queries, online learning, local privacy."""
