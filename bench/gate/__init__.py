"""Gates whose answer is known, and how often they are wrong."""
