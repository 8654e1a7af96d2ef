"""Checks whether a driver keeps the contract of docs/driver-contract.md (`loadstone check driver`)."""
