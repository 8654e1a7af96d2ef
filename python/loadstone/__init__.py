"""Loadstone: the load laboratory for Redis and the applications around it."""

__version__ = "0.2.0"
