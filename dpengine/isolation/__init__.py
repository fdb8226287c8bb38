"""Run functions that read strangers' files in separate processes with limits."""
