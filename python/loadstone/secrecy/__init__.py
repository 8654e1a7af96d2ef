"""What is secret, and what hides it: `names` and `text` decide, `registry` knows the values and hides them."""
