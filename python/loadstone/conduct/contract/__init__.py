"""The contract of drivers (docs/drivers.md), tried out on one: each part of it on servers that are known."""
