"""What the data allow one to say."""
