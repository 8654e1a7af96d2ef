"""The pages' processes run nothing that lies in a stranger's folder."""

import sys
from pathlib import Path

import pytest
from tests.end_to_end.test_strangers_folder import command, folder, ran  # noqa: F401 (a fixture)

APART = """
import asyncio
from loadstone.addons.pages.reader_process import Apart

if __name__ == "__main__":
    print(asyncio.run(Apart().call(len, "four")))
"""


@pytest.mark.fault("a stranger's folder holds modules of Python")
def test_no_process_of_the_pages_does(folder: Path, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "apart.py").write_text(APART)
    done = command(folder, sys.executable, str(tmp_path / "apart.py"))
    assert (ran(folder), done.stdout) == ("", "4\n"), done.stderr
