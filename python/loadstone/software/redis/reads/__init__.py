"""Reads from replicas of the user's, and of ours."""
