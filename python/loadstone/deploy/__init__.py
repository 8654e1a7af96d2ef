"""Servers are started, or found by URL: the third stage."""
