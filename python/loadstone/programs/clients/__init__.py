"""Drivers that are programs of client libraries: their builds, messages, records and CPU time."""
