"""From the run's folder to its `Analysis`: tables, comparisons and what limits them."""
