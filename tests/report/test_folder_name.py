"""A run's folder may have any name; a report holds nothing of it that a terminal obeys."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from loadstone.report.summary import reproduce


@pytest.mark.fault("terminal escapes, blanks or look-alike letters in names and replies")
def test_the_folder_in_a_command_is_plain() -> None:
    analysis = SimpleNamespace(
        environment={"command": "loadstone run x"}, quick=False, as_published=False, experiment="x", run="run\x1b[31m"
    )
    assert reproduce(cast(Any, analysis)) == ["loadstone run x", "loadstone report run [31m"]
