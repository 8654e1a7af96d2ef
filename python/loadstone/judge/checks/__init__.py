"""Whether a trial may be used: a check a rule."""
