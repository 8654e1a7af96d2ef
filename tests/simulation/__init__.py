"""Whole runs on the real loop, on days when things break: clock, disk, driver and servers are drawn from a seed."""
