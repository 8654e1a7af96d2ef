"""What must never go wrong: bounds on strangers' texts, secrets, and the way to the terminal."""
