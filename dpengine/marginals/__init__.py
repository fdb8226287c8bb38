"""Marginals of noisy counts: the values, least squares over them, and models fitted to them."""
