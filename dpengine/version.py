"""The version that a release names as its maker."""

VERSION = "0.1.0"
