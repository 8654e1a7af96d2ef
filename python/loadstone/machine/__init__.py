"""This machine: its processes, ports and clock."""
