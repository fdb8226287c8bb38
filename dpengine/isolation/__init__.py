"""Functions that read what strangers wrote, run in a process of their own with limits."""
