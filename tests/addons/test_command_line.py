"""What a newcomer types first, of the commands of add-ons."""

from pathlib import Path

import pytest
from tests.test_command_line import loadstone, names_no_type_of_python


def test_a_slip_is_answered_by_what_to_write(tmp_path: Path) -> None:
    done = loadstone("runs", "a", "b", folder=tmp_path)
    said = "loadstone: Got unexpected extra argument (b); `loadstone runs --help` lists what it takes\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize("command", ["compare", "saturate http", "check driver"])
def test_help_names_no_type_of_python(command: str, tmp_path: Path) -> None:
    assert names_no_type_of_python(command, tmp_path)


def test_a_group_without_a_command_prints_its_help_line_by_line(tmp_path: Path) -> None:
    done = loadstone("saturate", folder=tmp_path)
    assert (done.returncode, done.stderr) == (2, "")
    assert len(done.stdout.splitlines()) > 5
