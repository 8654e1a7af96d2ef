"""A driver for loadstone: the load of a plan, made with redis-py (docs/drivers.md of loadstone)."""
