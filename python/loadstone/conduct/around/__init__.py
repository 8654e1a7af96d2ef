"""What is read of parts right before and right after a drive."""
