"""A real Redis with JSON for the tests of monitors."""

from tests.monitored_redis import control, server  # noqa: F401 (fixtures)
