"""`loadstone redis` and `loadstone http`: what their options mean, as an experiment that goes the way of any other."""
