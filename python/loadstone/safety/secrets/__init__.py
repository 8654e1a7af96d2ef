"""What is secret, and what hides it: names and texts tell, `known` has the values and hides them."""
