"""The link of a server: a line between it and all that loads it, with a delay, a jitter and a bandwidth."""
