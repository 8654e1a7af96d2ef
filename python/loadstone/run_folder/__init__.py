"""The run's folder: its files and their types."""
