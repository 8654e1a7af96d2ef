"""The host, its processes, and the driver's own."""
