"""Where each condition saturates, from the trials of a run."""
