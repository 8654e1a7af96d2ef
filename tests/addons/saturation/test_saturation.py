"""Where a real Redis saturates: the whole way, gone on with, and where a server dies or answers errors only."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.conftest import Lab, check_of, lab_in

EXPERIMENT = """\
format: 1
name: saturated
question: Where does a Redis saturate?
factors:
  operation: {levels: [get]}
tables:
  - {name: all, title: All, vary: {operation: [get]}}
servers:
  redis: {kind: embedded}
workload:
  model: {kind: closed, users: 4}
  pool: {connections: 4}
  phases: {drain_s: 1 s}
  keys: {count: 100}
  operations:
    - {name: get, commands: [{args: "GET {key}", expect: value}]}
    - {name: set, weight: 0, commands: [{args: "SET {key} {value}", expect: ok}]}
  load: [{operation: set}]
load: LOAD
"""
SHORT = "slice: 40 ms, trial: 300 ms, sweeps_max: 6"


def experiment(folder: Path, load: str, *, expect: str = "value") -> Path:
    path = folder / "saturated.yaml"
    path.write_text(EXPERIMENT.replace("LOAD", load).replace("expect: value", f"expect: {expect}"))
    return path


def saturation(lab: Lab) -> dict[str, Any]:
    (found,) = json.loads((lab.run() / "analysis.json").read_text())["saturations"]
    return dict(found)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A run that ended, which the tests only read."""
    with lab_in(tmp_path_factory.mktemp("saturation")) as lab:
        load = f"{{users_max: 64, objective: 'p99 < 5 s', {SHORT}}}"
        done = lab.loadstone("run", experiment(lab.folder, load), "--quick")
        assert done.status in (0, 3), done.err
        assert "Saturation point" in done.err
        yield lab


def test_users_are_doubled_and_then_swept(measured: Lab) -> None:
    search = [one["saturation"]["users"] for one in measured.trials() if one["saturation"]["phase"] == "search"]
    assert search == [2**step for step in range(len(search))]
    sweeps = [one["saturation"] for one in measured.trials() if one["saturation"]["phase"] == "sweep"]
    found = saturation(measured)
    if found["kind"] != "at_least":  # a machine that others use may leave the generator too little
        assert len({one["users"] for one in sweeps}) >= 4
        assert {one["rounds_a_sweep"] for one in sweeps} - {0}, "in rounds"
        blocks = len({one["number"] for one in sweeps})
        assert found["sweeps"] == 6 or 6 < found["sweeps"] < 6 * blocks, "one that lost slices is followed by another"
        assert found["points"][0]["users"] == 1


def test_what_was_sent_is_counted_exactly(measured: Lab) -> None:
    for trial in measured.trials():
        for name in ("conservation", "server_counter", "finished"):
            assert check_of(trial, name)["verdict"] == "valid", (name, trial["trial"])
        assert trial["group"] == "saturation"


def test_the_answer_stands_in_the_analysis(measured: Lab) -> None:
    found, analysis = saturation(measured), json.loads((measured.run() / "analysis.json").read_text())
    assert found["model"] == "closed"
    assert found["kind"] in ("plateau", "peak", "at_least"), found
    assert analysis["complete"]
    assert analysis["answer"]["kind"] == "saturations"
    assert analysis["tables"] == []
    assert found["search"]["points"][0]["per_s"] > 0
    if found["kind"] != "at_least":  # a machine that others use may leave the generator too little
        assert found["limiting"]["bottleneck"]["part"] in ("server", "generator", "latency", "unknown")
        assert {"redis", "generator"} <= {one["part"] for one in found["limiting"]["shares"]}
        assert found["objective"]["kind"] == "met_always", "no reply takes 5 s"


def test_a_run_that_was_interrupted_goes_on(lab: Lab) -> None:
    command = lab.begin("run", experiment(lab.folder, f"{{users_max: 8, rounds: never, {SHORT}}}"), "--quick")
    lab.until(lambda: lab.runs() and lab.lines())  # after one user there are two, whatever others take
    command.signal(signal.SIGINT)
    assert command.wait().status == 130
    before = [line["trial"] for line in lab.lines()]
    done = lab.loadstone("run", "--resume", lab.run())
    assert done.status in (0, 3), done.err
    after = [line["trial"] for line in lab.lines()]
    assert after[: len(before)] == before
    assert len(set(after)) == len(after), "nothing is measured twice"
    assert json.loads((lab.run() / "analysis.json").read_text())["complete"]


def test_what_was_measured_before_a_server_died_is_kept(lab: Lab) -> None:
    path = experiment(lab.folder, f"{{users_max: 64, rounds: never, {SHORT}}}")
    path.write_text(path.read_text().replace("users: 4}", "users: 4, think_time_ms: 10}"))  # so that nothing is full
    command = lab.begin("run", path, "--quick", "--budget", "30s")
    lab.until(lambda: lab.runs() and len(lab.lines()) >= 3)
    for server in command.servers():
        server.kill()
    done = command.wait()
    assert done.status in (0, 3), done.err
    assert "Traceback" not in done.err
    found = saturation(lab)
    assert found["kind"] != "none", found["message"]
    assert len(found["search"]["points"]) >= 3


def test_a_server_that_answers_errors_only_is_named(lab: Lab) -> None:
    done = lab.loadstone("run", experiment(lab.folder, f"{{users_max: 8, {SHORT}}}", expect="integer"), "--quick")
    assert done.status == 3
    found = saturation(lab)
    assert found["kind"] == "none"
    assert len(found["search"]["points"]) == 1, "it stops at once"
    assert "100.0% of the replies failed" in done.out


def test_users_that_are_too_few_give_a_bound(lab: Lab) -> None:
    done = lab.loadstone("run", experiment(lab.folder, f"{{users_max: 2, {SHORT}}}"), "--quick")
    assert done.status == 0, done.err
    found = saturation(lab)
    assert found["kind"] == "at_least"
    assert found["at_least_per_s"] > 0
    assert found["message"]["figures"]["why"]["kind"] in ("not_levelled_off_at_most", "generator_gave_out_at")


OPEN = "{model: open, objective: 'p99 < 50 ms', users_max: 32, trial: 200 ms}"


def test_the_open_model_looks_for_a_rate_from_what_the_closed_search_brought(lab: Lab) -> None:
    """The whole way of it, to where its budget ends; whether it finds the rate is proven below."""
    words: tuple[str | Path, ...] = (experiment(lab.folder, OPEN), "--quick")
    for budget in ("12s", "60s"):  # what others leave of 12 s may not be enough for the search
        done = lab.loadstone("run", *words, "--budget", budget)
        assert done.status in (0, 3), done.err
        steps = [one["saturation"]["phase"] for one in lab.trials()]
        if "locate" in steps:
            break
        words = ("--resume", lab.run())
    assert steps[0] == "search"
    assert "locate" in steps
    assert saturation(lab)["model"] == "open"


@pytest.mark.prove
def test_the_open_model_finds_the_highest_rate_that_keeps_an_objective(lab: Lab) -> None:
    done = lab.loadstone("run", experiment(lab.folder, OPEN), "--quick")
    assert done.status in (0, 3), done.err
    found = saturation(lab)
    steps = [one["saturation"]["phase"] for one in lab.trials()]
    assert steps.count("locate") == 8
    assert steps.count("bisect") == 32
    assert found["model"] == "open"
    assert found["kind"] in ("limit", "at_least"), found["message"]
    assert len(found["points"]) == 40
