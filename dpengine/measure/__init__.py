"""Turn exact counts into noisy measurements: which marginals, with which share of ε, by which mechanism."""
