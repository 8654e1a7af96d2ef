"""Processes of ours: guards, limits, folders, ends."""
