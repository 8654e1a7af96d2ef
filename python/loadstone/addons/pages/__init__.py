"""The web pages: experiments, runs while they go on, and runs that ended."""
