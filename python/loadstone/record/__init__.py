"""The run's folder: the sixth stage."""
