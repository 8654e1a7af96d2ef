"""Which conditions a run measures, in which groups, blocks and order."""
