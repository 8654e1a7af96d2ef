"""What the user wrote, and what will be done for it."""
