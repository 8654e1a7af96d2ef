"""Crash experiments: a server is killed, and what it kept is looked up."""
