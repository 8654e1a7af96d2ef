"""Pairs of conditions, block by block, and their verdicts."""
