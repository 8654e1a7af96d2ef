"""Drivers that are programs of client libraries: their messages, their records, their CPU time."""
