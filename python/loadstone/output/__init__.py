"""The one way to the terminal."""
