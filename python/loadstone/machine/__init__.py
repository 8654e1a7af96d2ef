"""This machine: its processes, CPUs, ports and clock."""
