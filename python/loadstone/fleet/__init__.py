"""Load from several machines: agents that each drive their share of one plan, over a cluster that is behind a seam."""
