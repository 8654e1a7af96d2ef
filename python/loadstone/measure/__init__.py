"""The loop that measures: it asks the goals, and takes each block from its start to its records."""
