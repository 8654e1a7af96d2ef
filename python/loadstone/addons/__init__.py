"""What stands on the core by its seam, and what the core never imports."""
