"""Rows at a fixed rate, on a real Redis: counted exactly, and apart from everything else."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.end_to_end.conftest import Lab, check_of, lab_in

RATES = "at_rate: never, rounds: never => at_rate: 50 %"
ROWS = 2
ONLY = ("--only", "workers=1", "--only", "operation=set,get")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A run that ended, which the tests only read."""
    with lab_in(tmp_path_factory.mktemp("at-rate")) as lab:
        done = lab.loadstone("run", lab.experiment(rates=RATES), *ONLY, "--json")
        assert done.status in (0, 3), done.err  # 3: this machine spoiled a trial
        yield lab


def by_condition(trials: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {json.dumps(trial["condition"], sort_keys=True): trial for trial in trials}


def counts(trial: dict[str, Any]) -> bool:
    """Whether its rate says what the condition can do: a busy machine may spoil a trial."""
    bounds = ("gain", "taken")
    return not any(one["verdict"] == "invalid" and one["name"] not in bounds for one in trial["checks"])


def test_every_row_is_measured_at_half_of_its_own_rate(lab: Lab) -> None:
    # On a machine where one worker does not fill the server, more of them are tried: those are no rows.
    own = by_condition([trial for trial in lab.trials() if trial["group"] == "table"])
    fixed = by_condition([trial for trial in lab.trials() if trial["group"] == "at-rate"])
    assert len(own) == ROWS
    assert fixed.keys() == {key for key, trial in own.items() if counts(trial)}
    for key, trial in fixed.items():
        model = trial["facts"]["plan"]["model"]
        assert model["kind"] == "open"
        assert model["rate_per_s"] == pytest.approx(own[key]["goodput_per_s"] / 2)
        assert trial["facts"]["rate_share"] == 0.5
        assert own[key]["facts"]["rate_share"] is None
        for part in ("pool", "keys", "documents"):
            assert trial["facts"]["plan"][part] == own[key]["facts"]["plan"][part], part


def test_what_was_sent_is_counted_exactly(lab: Lab) -> None:
    for trial in (one for one in lab.trials() if one["group"] == "at-rate"):
        found = trial["counts"]
        known = found["ok"] + sum(found["errors"].values()) + found["timeouts"] + found["in_flight"]
        assert found["offered"] - found["unsent"] - found["dropped"] == found["sent"] == known > 0
        for name in ("conservation", "server_counter", "finished"):
            assert check_of(trial, name)["verdict"] == "valid", (name, trial)
        assert check_of(trial, "replies")["verdict"] != "invalid", trial


def test_rows_have_it_beside_their_own_figures(lab: Lab) -> None:
    analysis = json.loads((lab.run() / "analysis.json").read_text())
    assert analysis["complete"]
    rows = analysis["tables"][0]["rows"]
    assert len(rows) == ROWS
    measured = {trial["trial"] for trial in lab.trials() if trial["group"] == "at-rate"}
    for row in rows:
        assert row["saturated"]
        assert not measured.intersection(row["trials"])
        assert (row["at_rate"]["verdict"] == "missing") == (not row["at_rate"]["trials"])
        assert row["at_rate"]["reasons"] or row["at_rate"]["verdict"] == "valid"
    assert {name for row in rows for name in row["at_rate"]["trials"]} == measured
    assert not [group for group in json.loads((lab.run() / "plan.json").read_text())["groups"] if group["pairs"]]


def test_an_experiment_without_such_rows_refuses_the_option(lab: Lab) -> None:
    model = 'model: {kind: closed, users: "${workers}"} => model: {kind: open, rate_per_s: 100/s}'
    alike = "title: Workers} => title: Workers, alike: true}"
    done = lab.loadstone("run", lab.experiment(model=model, alike=alike), "--at-rate", "50%")
    assert done.status == 2
    assert "--at-rate 50%: no row of tiny can have it" in done.error_line


def test_every_slice_has_latencies_of_its_own_and_so_quantiles_an_interval(lab: Lab) -> None:
    analysis = json.loads((lab.run() / "analysis.json").read_text())
    rows = {
        row["at_rate"]["trials"][0]: row["at_rate"] for row in analysis["tables"][0]["rows"] if row["at_rate"]["trials"]
    }
    for trial in (one for one in lab.trials() if one["group"] == "at-rate"):
        found, slices = rows[trial["trial"]], len(trial["slices"])
        if found["response_ns"] is None:  # this machine spoiled it
            continue
        assert (found["interval_units"], found["interval_unit"]) == (slices, "slice")
        assert bool(found["response_interval_ns"]) == (slices >= 8)
        assert (found["no_interval"] is None) == (slices >= 8)
        for name, (low, high) in found["response_interval_ns"].items():
            # The interval is of what is printed: of the slices without a stall, where stalls are rare.
            printed = found["stalls"].get(name, {}).get("without_ns") or found["response_ns"][name]
            assert low <= printed * 1.002
            assert high is None or printed <= high * 1.002
