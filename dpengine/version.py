"""The version of the software that a release records."""

VERSION = "0.1.0"
