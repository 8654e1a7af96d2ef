"""Processes that loadstone starts: guards, limits, folders and ends."""
