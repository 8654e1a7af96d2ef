"""What people and programs read: the last stage."""
