"""Audits of the code that publishes: exact checks, and lower bounds on ε from what it gives out, run after run."""
