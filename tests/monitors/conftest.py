"""A Redis with JSON, for the monitors beside it."""

from tests.monitored_redis import control, server  # noqa: F401 (fixtures)
