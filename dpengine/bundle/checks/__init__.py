"""What `verify` compares in a release file, within limits on what it reads."""
