"""Rows of tables that take turns on a real Redis, as a user runs them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.end_to_end.conftest import PATIENCE_S, Lab, check_of, lab_in

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="parts are observed on Linux only"),
]
ROWS = """\
format: 1
name: rows
question: How fast are rows?
factors:
  operation: {levels: [set, get]}
  users: {levels: [1, 2, 4, 8]}
tables:
  - {name: all, title: All, vary: {operation: [set, get], users: [1, 2, 4, 8]}}
servers:
  redis: {kind: embedded}
workload:
  model: {kind: closed, users: "${users}"}
  pool: {connections: 8}
  phases: {warm_up_s: 50 ms, measure_s: 400 ms}
  keys: {count: 200}
  operations:
    - {name: set, when: {operation: set}, commands: [{args: "SET {key} {value}", expect: ok}]}
    - {name: get, when: {operation: get}, commands: [{args: "GET {key}", expect: value}]}
  load:
    - {operation: set, when: {operation: get}}
design: {table_blocks: 1, at_rate: never}
"""


CALLS = 7
"""From `cli.main.run` to the engine, both counted."""
SPY = """
import json, sys, traceback
from pathlib import Path
import loadstone
from loadstone import _engine
from loadstone.cli.main import main
from loadstone.drivers import native

root, rounds = Path(loadstone.__file__).parent, _engine.Rounds

def begun(*arguments):
    stack = [f"{one.filename}:{one.name}" for one in traceback.extract_stack() if one.filename.startswith(str(root))]
    print("calls", json.dumps([one.removeprefix(f"{root}/") for one in stack]), file=sys.stderr)
    return rounds(*arguments)

_engine.Rounds = begun
main()
"""


@dataclass(frozen=True)
class Ran:
    """A run that ended, and what it wrote to stdout and stderr."""

    lab: Lab
    out: str
    err: str


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    with lab_in(tmp_path_factory.mktemp("rows")) as lab:
        (lab.folder / "rows.yaml").write_text(ROWS)
        command = [sys.executable, "-c", SPY, "run", "rows.yaml", "--json"]
        here = {"cwd": lab.folder, "env": {**os.environ, "TMPDIR": str(lab.temporary)}}
        done = subprocess.run(command, **here, capture_output=True, text=True, check=False, timeout=PATIENCE_S)  # type: ignore[call-overload]
        yield Ran(lab, done.stdout, done.stderr)


def test_every_row_has_its_slices_and_counts_what_the_server_counted(ran: Ran) -> None:
    assert "Traceback" not in ran.err
    every = ran.lab.trials()  # with those that are measured again, where others spoilt some
    trials = [trial for trial in every if trial["started_unix_ns"] == every[0]["started_unix_ns"]]
    assert len(trials) == 8, "they took turns"
    for trial in trials:
        slices = trial["facts"]["drive"]["slices"]
        assert sorted(one["round"] for one in slices) == list(range(len(slices)))
        assert len(slices) >= 8
        assert check_of(trial, "server_counter")["verdict"] == "valid", "with what the other rows did, exactly"
        assert check_of(trial, "conservation")["verdict"] == "valid"
    rows = json.loads(ran.out)["tables"][0]["rows"]
    assert all(row["goodput_interval"] is not None for row in rows if row["goodput_per_s"] is not None)


def test_it_is_few_calls_from_the_command_line_to_the_engine(ran: Ran) -> None:
    """Few enough to read them in one go."""
    spied = [line for line in ran.err.splitlines() if line.startswith("calls ")]
    assert spied, ran.err
    calls = json.loads(spied[0].removeprefix("calls "))
    way = calls[calls.index("cli/main.py:run") :]
    assert way[-1] == "drivers/native.py:drive"
    assert len(way) <= CALLS, " -> ".join(way)
