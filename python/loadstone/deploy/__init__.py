"""Starts servers and applications, or reaches them by URL: the third stage."""
