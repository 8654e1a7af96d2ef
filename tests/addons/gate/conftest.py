"""What tests of the core have, too: a command in a folder of its own, and a loop by a script."""

from tests.end_to_end.conftest import lab  # noqa: F401 (a fixture)
from tests.measure.goals.conftest import bench  # noqa: F401 (a fixture)
