"""A run with a comparison: blocks in turns, looks, a budget that ends it, and going on with it."""

import json
import signal
from itertools import pairwise
from typing import Any

import pytest

from loadstone.judge.compare.pairs import EXACT
from tests.end_to_end.conftest import CALM, Lab

pytestmark = pytest.mark.timeout(600)  # several commands in a row, which take long on a busy machine
COMPARISON = """servers: => comparisons:
  - name: read-or-write
    question: What does a write cost?
    between: operation
    levels: [set, get]
    at: {workers: [4]}
servers:"""
SHORT = (
    "design: {table_blocks: 1, at_rate: never, rounds: never} => "
    "design: {table_blocks: 1, at_rate: never, trial: 200 ms, rounds: never}"
)
GROUP = "read-or-write"
ONLY = ("--only", "operation=set,get", "--only", "workers=4")
"""Without what stands in tables only."""
ENDS = {"decided", "last look"}


def looks(lab: Lab) -> list[dict[str, Any]]:
    """The lines of `looks.jsonl` on the comparison."""
    lines = (lab.run() / "looks.jsonl").read_text().splitlines()
    return [look for line in lines if (look := json.loads(line))["group"] == GROUP]


def blocks(lab: Lab) -> dict[int, set[str]]:
    """Block -> the conditions' operations that were measured in it."""
    found: dict[int, set[str]] = {}
    for trial in lab.trials():
        if trial["group"] == GROUP:
            found.setdefault(trial["block"], set()).add(trial["condition"]["operation"])
    return found


def begun_s(lab: Lab) -> list[float]:
    """When each block began."""
    trials = [trial for trial in lab.trials() if trial["group"] == GROUP]
    return [min(trial["started_unix_ns"] for trial in trials if trial["block"] == block) / 1e9 for block in blocks(lab)]


def test_a_comparison_survives_a_kill_and_ends_with_a_verdict(lab: Lab) -> None:
    path = lab.experiment(compared=COMPARISON, short=SHORT, calm=CALM)
    command = lab.begin("run", path, *ONLY, "--blocks", "8")
    lab.until(lambda: lab.runs() and len(blocks(lab)) >= 3)
    command.signal(signal.SIGKILL)
    command.wait()
    lab.until_nothing_is_left()
    before = lab.lines()
    assert looks(lab) == []
    lab.draws = True
    done = lab.loadstone("run", path, *ONLY, "--blocks", "8", "--resume", lab.run())
    assert done.status in (0, 3), done.err  # 3: this machine spoiled a trial
    assert lab.lines()[: len(before)] == before
    assert blocks(lab) == {block: {"set", "get"} for block in range(9)}
    (look,) = looks(lab)
    assert look["blocks"] == 8
    assert look["stop"]
    assert look["reason"] in ENDS
    (verdict,) = look["verdicts"]
    assert "(after 8 blocks)" in done.err
    (family,) = json.loads((lab.run() / "analysis.json").read_text())["families"]
    (pair,) = family["comparisons"]
    primary = pair["primary"]
    printed = done.err.replace("\n", " ")
    assert any(one["text"] in printed for one in (primary, *pair["costs"])), "of these what is decided"
    assert {name: primary[name] for name in ("kind", "winner", "estimate", "low", "high")} == {
        name: verdict[name] for name in ("kind", "winner", "estimate", "low", "high")
    }


def test_the_budget_ends_a_comparison_and_more_budget_goes_on_with_it(lab: Lab) -> None:
    path = lab.experiment(compared=COMPARISON, short=SHORT, calm=CALM)
    first = lab.loadstone("run", path, *ONLY, "--budget", "4 s")
    assert first.status in (0, 3), first.err
    ended = looks(lab)[-1]
    assert ended["reason"] == "out of budget"
    assert 0 <= ended["blocks"] < 8
    starts = begun_s(lab)
    assert max(starts, default=0.0) - min(starts, default=0.0) < 4, "no block begins that does not fit"
    for budget_s in (12, 90):  # what others leave of 12 s may be no more than the start of the command
        second = lab.loadstone("run", path, *ONLY, "--budget", f"{budget_s} s", "--resume", lab.run())
        assert second.status in (0, 3), second.err
        went_on = looks(lab)[-1]
        assert went_on["stop"]
        if went_on["blocks"] > ended["blocks"]:
            break
    assert went_on["blocks"] > ended["blocks"]
    assert json.loads((lab.run() / "plan.json").read_text())["budget_s"] == budget_s
    conditions = blocks(lab)
    assert all(conditions[block] == {"set", "get"} for block in range(1, went_on["blocks"] + 1))


def test_what_a_redis_alone_does_takes_turns_and_every_count_is_exact(lab: Lab) -> None:
    path = lab.experiment(compared=COMPARISON, short=SHORT.replace("200 ms, rounds: never", "200 ms"))
    done = lab.loadstone("run", path, *ONLY, "--blocks", "2")
    assert done.status in (0, 3), done.err
    found = [trial for trial in lab.trials() if trial["group"] == GROUP and not trial.get("stage", 0)]
    assert len(found) == 2 * 3, "two conditions, two blocks and the warm one"
    for trial in found:
        drive = trial["facts"]["drive"]
        checks = {check["name"]: check["verdict"] for check in trial["checks"]}
        assert {checks[name] for name in ("conservation", "server_counter", "replies", "payload")} <= {
            "valid",
            "unknown",
        }
        assert checks["server_counter"] == "valid", "the server counted what both sent together, exactly"
        assert len(trial["slices"]) == len(drive["slices"]) == (16 if trial["block"] else 8)
        assert sum(one["completed"] for one in drive["slices"]) == sum(
            one["window_completed"] for one in drive["operations"].values()
        )
        assert sum(one["parts"]["redis"]["cpu_s"] for one in drive["slices"]) > 0
    first, second = (trial for trial in found if trial["block"] == 1)
    turns = sorted(
        (one["begin_s"], one["drained_s"]) for trial in (first, second) for one in trial["facts"]["drive"]["slices"]
    )
    assert all(drained <= begin for (_, drained), (begin, _) in pairwise(turns)), "never both at one time"
    (verdict,) = looks(lab)[0]["verdicts"]
    refused_by = verdict["check"]
    assert verdict["estimate"] is not None or (refused_by and refused_by not in EXACT), (
        "four users may leave both idle, and others stop either"
    )
    assert looks(lab)[0]["blocks"] == 2


def test_a_missed_objective_is_status_1_and_named(lab: Lab) -> None:
    path = lab.experiment(compared=COMPARISON, short=SHORT)
    only = ("--only", "operation=get", "--only", "workers=1")
    done = lab.loadstone("run", path, *only, "--fail-if", "goodput < 1000000000/s")
    assert done.status == 1, done.err
    assert "--fail-if: " in done.err
    again = lab.loadstone("report", lab.run(), "--format", "csv", "--fail-if", "goodput < 1000000000/s")
    assert again.status == 1
    assert "--fail-if: " in again.err
