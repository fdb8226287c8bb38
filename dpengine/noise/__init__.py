"""Exact noise and exact private choice, from the operating system's randomness."""

from dpengine.noise.laplace import discrete_laplace

__all__ = ["discrete_laplace"]
