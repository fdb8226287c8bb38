"""The comparisons that `verify` makes in a release file, within limits on the size of what it reads."""
