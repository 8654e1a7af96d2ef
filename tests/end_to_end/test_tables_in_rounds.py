"""Rows of tables that take turns on a real Redis, as a user runs them."""

import json
import sys

import pytest

from tests.end_to_end.conftest import Lab, check_of

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


def test_every_row_has_its_slices_and_counts_what_the_server_counted(lab: Lab) -> None:
    path = lab.folder / "rows.yaml"
    path.write_text(ROWS)
    done = lab.loadstone("run", path, "--json")
    assert "Traceback" not in done.err
    trials = lab.trials()
    assert len(trials) == 8
    assert len({trial["started_unix_ns"] for trial in trials}) == 1, "they took turns"
    for trial in trials:
        slices = trial["facts"]["drive"]["slices"]
        assert sorted(one["round"] for one in slices) == list(range(len(slices)))
        assert len(slices) >= 8
        assert check_of(trial, "server_counter")["verdict"] == "valid", "with what the other rows did, exactly"
        assert check_of(trial, "conservation")["verdict"] == "valid"
    rows = json.loads(done.out)["tables"][0]["rows"]
    assert all(row["goodput_interval"] is not None for row in rows if row["goodput_per_s"] is not None)
