"""What an experiment from someone else would do here, and whether it may."""
