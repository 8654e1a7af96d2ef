"""Bounds on what strangers send: sizes, times, and what replies may be."""
