"""What is secret, and what hides it: names and texts tell, `known_secrets` knows the values and hides them."""
