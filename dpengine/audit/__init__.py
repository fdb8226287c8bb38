"""Audits of the code that publishes: exact checks, and lower bounds on ε from the outputs of many runs."""
