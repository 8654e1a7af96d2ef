"""What limited a condition: which part, and the evidence."""
