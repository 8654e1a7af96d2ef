"""Carrying a run plan out: the loop that asks the goals, and each block from deploy to record."""
