"""A run from its request to its report: preparation, consent, preflight and the eight stages."""
