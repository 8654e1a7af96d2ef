"""Recordings of `MONITOR`: read, and their commands made ready to be sent again under keys of our own."""
