"""What must hold before a run measures."""
