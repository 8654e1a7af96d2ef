"""Load from several machines: agents that each drive their share of one plan."""
