"""Comparisons in rounds of conditions that have servers or applications of their own, as a user runs them."""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.end_to_end.conftest import Command, Lab, check_of
from tests.end_to_end.test_subjects import experiment

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="processes are paused on Linux only"),
]
BLOCKS = 2
SETTINGS = """\
format: 1
name: settings
question: Does a setting matter?
factors:
  hz: {levels: [10, 100], title: hz}
tables:
  - {name: all, title: All, vary: {hz: [10, 100]}}
comparisons:
  - {name: rates, question: Which is faster?, between: hz, levels: [10, 100]}
servers:
  redis: {kind: embedded, settings: {hz: "${hz}"}}
workload:
  model: {kind: closed, users: 4}
  pool: {connections: 4}
  phases: {warm_up_s: 50 ms, measure_s: 500 ms}
  keys: {count: 100}
  operations:
    - {name: set, commands: [{args: "SET {key} {value}", expect: ok}]}
design: {table_blocks: 1}
"""
COMPARED = """
comparisons:
  - {name: behaviours, question: Which is faster?, between: behaviour, levels: [burns, right]}
"""


def blocks(lab: Lab, group: str) -> dict[int, list[dict[str, Any]]]:
    """Block -> its trials, as planned: on a crowded machine longer slices may have followed them."""
    found: dict[int, list[dict[str, Any]]] = {}
    for trial in lab.trials():
        if trial["group"] == group and trial["stage"] == 0:
            found.setdefault(trial["block"], []).append(trial)
    return found


def test_each_server_counts_what_its_own_condition_did_and_starts_again_for_each_block(lab: Lab) -> None:
    path = lab.folder / "settings.yaml"
    path.write_text(SETTINGS)
    done = lab.loadstone("run", "--trust", path, "--blocks", str(BLOCKS))
    assert "Traceback" not in done.err
    found = blocks(lab, "rates")
    assert list(found) == list(range(BLOCKS + 1)), done.err
    starts: list[str] = []
    for trials in found.values():
        assert len({trial["started_unix_ns"] for trial in trials}) == 1, "they took turns"
        for trial in trials:
            facts = trial["facts"]
            assert facts["failure"] is None
            assert facts["company"] is None, "no one else was on its server"
            assert facts["settings"]["redis"]["hz"] == str(trial["condition"]["hz"])
            assert check_of(trial, "server_counter")["verdict"] == "valid"
            drive = facts["drive"]["commands"]["SET"]
            assert calls(trial, "set") == drive["sent"] == drive["replied"] >= trial["counts"]["ok"] > 0
            assert facts["starts"]["redis"]["before"] == facts["starts"]["redis"]["after"]
            starts.append(facts["starts"]["redis"]["before"])
    assert len(set(starts)) == len(starts), "a start of its own for each condition and block"
    (family,) = json.loads((lab.run() / "analysis.json").read_text())["families"]
    (comparison,) = family["comparisons"]
    assert (comparison["primary"]["unit"], comparison["blocks_done"]) == ("block", BLOCKS)


def calls(trial: dict[str, Any], command: str) -> int:
    """How often a trial's server executed a command, by its own count."""
    server = trial["facts"]["servers"]["redis"]
    before, after = (server[when]["calls"].get(command, 0) for when in ("before", "after"))
    return int(after - before)


def applications(lab: Lab) -> Path:
    """Two applications of which one computes without end, compared in slices of 100 ms."""
    path = experiment(lab, behaviours="[burns, right]")
    text = path.read_text().replace(", think_time_ms: 10", "")
    text = text[: text.index("  stored:")] + "design: {table_blocks: 1, slice: 100 ms, at_rate: never}\n" + COMPARED
    path.write_text(text)
    return path


def standing_still(command: Command) -> set[int]:
    """What the command started and what stands still now."""
    try:
        children = psutil.Process(command.process.pid).children(recursive=True)
        return {child.pid for child in children if child.status() == psutil.STATUS_STOPPED}
    except psutil.NoSuchProcess:
        return set()


@pytest.mark.alone
def test_an_application_stands_still_in_the_slices_of_another(lab: Lab) -> None:
    command = lab.begin("run", "--trust", applications(lab), "--blocks", "1", "--only", "replicas=1")
    paused: set[int] = set()

    def both_did() -> bool:
        paused.update(standing_still(command))
        return len(paused) >= 2

    lab.until(both_did)
    done = command.wait()
    assert "Traceback" not in done.err
    lab.until_nothing_is_left()
    found = blocks(lab, "behaviours")
    assert set(found) == {0, 1}
    for trials in found.values():
        by_behaviour = {trial["condition"]["behaviour"]: trial for trial in trials}
        assert set(by_behaviour) == {"burns", "right"}
        for trial in trials:
            facts = trial["facts"]
            assert facts["failure"] is None
            assert trial["counts"]["ok"] > 0
            assert sum(trial["counts"]["errors"].values()) == trial["counts"]["timeouts"] == 0
            assert "app" not in facts["seen"].get("others", {})
            assert facts["company"] is None or facts["company"]["drives"] == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_that_stands_still_for_another_outlives_the_run(lab: Lab, number: signal.Signals) -> None:
    command = lab.begin("run", "--trust", applications(lab), "--blocks", "8", "--only", "replicas=1")
    lab.until(lambda: lab.runs() != [] and blocks(lab, "behaviours") != {} and standing_still(command) != set())
    command.signal(number)
    command.wait()
    lab.until_nothing_is_left()
