"""Monitors watch every part while the load runs: the fifth stage."""
