"""Turns shares of a plan into load: the fourth stage."""
