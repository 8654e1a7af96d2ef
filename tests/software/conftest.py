"""A real Redis with JSON for the tests of monitors."""

from tests.monitors import control, server  # noqa: F401 (fixtures)
