"""The servers of a run: a room for each software, and what all of them share."""
