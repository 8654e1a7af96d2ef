"""What tests of the core have, too: a command in a folder of its own, and the sample of reports."""

from tests.end_to_end.conftest import lab  # noqa: F401 (a fixture)
from tests.report.conftest import analysis  # noqa: F401 (a fixture)
