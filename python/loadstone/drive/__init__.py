"""A share of the plan becomes load: the fourth stage."""
