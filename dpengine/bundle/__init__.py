"""The release bundle: written, read, explained and verified."""
