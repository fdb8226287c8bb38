"""A finished release as a value, its prediction and its preview."""
