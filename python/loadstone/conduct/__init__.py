"""Carrying a run plan out: which trial comes next, each trial from deploy to record, and the crashes at the end."""
