"""What makes load, and what it delivers."""
