"""What is common to servers that speak SQL."""
