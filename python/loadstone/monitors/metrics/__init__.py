"""The metrics of each software, as data: a file a software."""
