"""What people and programs read before, during and after a run."""
