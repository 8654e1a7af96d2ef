"""The checks of whether a driver keeps the contract of docs/driver-contract.md."""
