"""The monitors of the host, of its processes, and of the driver's own."""
