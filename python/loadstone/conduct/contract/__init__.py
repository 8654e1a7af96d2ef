"""Checks whether a driver keeps the contract of docs/drivers.md (`loadstone check driver`)."""
