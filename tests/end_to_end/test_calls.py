"""How far it is from the command to the engine: few enough calls to read them in one go."""

import json
import subprocess
import sys

from tests.end_to_end.conftest import Lab
from tests.end_to_end.test_tables_in_rounds import ROWS

CALLS = 7
"""From `cli.run` to the engine, both counted."""
SPY = """
import json, sys, traceback
from pathlib import Path
import loadstone
from loadstone import _engine
from loadstone.cli import main
from loadstone.drive import native

root, rounds = Path(loadstone.__file__).parent, _engine.Rounds

def begun(*arguments):
    stack = [f"{one.filename}:{one.name}" for one in traceback.extract_stack() if one.filename.startswith(str(root))]
    print("calls", json.dumps([one.removeprefix(f"{root}/") for one in stack]), file=sys.stderr)
    return rounds(*arguments)

_engine.Rounds = begun
main()
"""


def test_it_is_few_calls_from_the_command_line_to_the_engine(lab: Lab) -> None:
    path = lab.folder / "rows.yaml"
    path.write_text(ROWS)
    command = [sys.executable, "-c", SPY, "run", str(path), "--share-machine", "--out", str(lab.folder / "out")]
    done = subprocess.run(command, cwd=lab.folder, capture_output=True, text=True, check=False, timeout=120)
    spied = [line for line in done.stderr.splitlines() if line.startswith("calls ")]
    assert spied, done.stderr
    calls = json.loads(spied[0].removeprefix("calls "))
    way = calls[calls.index("cli.py:run") :]
    assert way[-1] == "drive/native.py:drive"
    assert len(way) <= CALLS, " -> ".join(way)
