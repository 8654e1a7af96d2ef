"""Factors become conditions, blocks and trials, and each trial a plan."""
