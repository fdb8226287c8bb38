"""What a notebook shows of a plan."""
