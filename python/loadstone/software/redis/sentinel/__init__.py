"""A primary of the user's that Sentinels watch."""
