"""A Redis Cluster of our own."""
