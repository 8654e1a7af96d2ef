"""The plans of one condition's trials: the experiment's workload, resolved."""
