"""The outcome of a gate, from the folder of a real one that is changed in one thing."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.frozen_runs import unpacked

from loadstone.addons.gate.result import GateResult
from loadstone.addons.gate.rule import GOOD
from loadstone.addons.gate.spec import HEAD, Gate
from loadstone.addons.gate.terminal import gate_lines
from loadstone.drivers.slices import Slice
from loadstone.judge.analysis.analyse import analyse_run
from loadstone.run_folder.reading import RecordedRun, read_run
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> RecordedRun:
    """Two settings of a Redis, that start again for each block; nothing is decided."""
    return read_run(unpacked("gate-twin", tmp_path_factory.mktemp("run")))


def gate_of(run: RecordedRun) -> GateResult:
    found = analyse_run(run).part(GateResult)
    assert found is not None
    return found


EVENLY = (1.2, 0.9, 1.15, 0.8, 1.1, 0.85, 0.7, 1.3, 0.98, 1.02, 1.0)
WAITS = (0.5, 0.9, 0.55, 1.02, 0.6, 0.45, 0.8, 0.65, 0.98, 0.7, 0.75)
"""In each block, how many requests the head answers while it waits for a lock, of those that it answered. A neighbour
takes from these two in turns, so that what they differ by is open."""


def with_waiting(run: RecordedRun, answered: Sequence[float], tolerance: float = 0.15) -> RecordedRun:
    """The run as if the head had waited: of requests and of CPU time the same share less, so none costs more."""

    def waiting(trial: TrialRecord) -> TrialRecord:
        if (trial.group, trial.condition["target"]) != ("rate", HEAD) or trial.block == 0:
            return trial
        share, drive = answered[(trial.block - 1) % len(answered)], trial.facts.drive
        assert drive is not None
        slices = [_answering(one, share) for one in drive.slices]
        facts = trial.facts.model_copy(update={"drive": drive.model_copy(update={"slices": slices})})
        return trial.model_copy(update={"facts": facts})

    experiment = run.experiment
    gate = experiment.part(Gate)
    assert gate is not None
    groups = tuple(replace(one, margin=tolerance) for one in run.plan.groups)
    wide = experiment.model_copy(update={"gate": gate.model_copy(update={"cost_margin": tolerance})})
    plan = run.plan.model_copy(update={"groups": groups})
    return replace(run, experiment=wide, plan=plan, trials=[waiting(one) for one in run.trials])


def _answering(one: Slice, share: float) -> Slice:
    counts = {name: round(share * getattr(one, name)) for name in ("offered", "completed", "ok", "failed")}
    more = {name: round(share * found) for name in ("turn_ok", "ok_first_half") if (found := getattr(one, name))}
    parts = {
        name: replace(part, **{key: share * spent for key in ("cpu_s", "turn_cpu_s") if (spent := getattr(part, key))})
        for name, part in one.parts.items()
    }
    return replace(one, **counts, **more, parts=parts)


def test_a_gate_is_not_green_where_the_head_waits_and_takes_no_more_cpu(twin: RecordedRun) -> None:
    found = gate_of(with_waiting(twin, WAITS))
    by = {one.name: one for one in found.figures}
    assert (by["cpu"].verdict in GOOD, by["rate"].verdict) == (True, "undecided")
    assert (found.verdict, found.status) == ("undecided", 4)
    said = render_message(found.message)
    assert said.startswith("NOT DECIDABLE HERE: the head may be slower: requests a second (-")
    assert said.endswith("); not slower: CPU per request")
    assert found.advice is not None, "what decides the rate"


def test_what_is_not_known_stands_in_the_line_of_a_green_gate(twin: RecordedRun) -> None:
    found = gate_of(with_waiting(twin, EVENLY))
    assert (found.verdict, found.status, found.decided_by) == ("same", 0, ["cpu", "memory"])
    assert render_message(found.message).startswith(
        "same within 15 %: CPU per request; not known: requests a second (-"
    )


def test_what_it_had_no_time_for_has_a_budget(twin: RecordedRun) -> None:
    found = gate_of(twin)
    assert (found.verdict, found.status, found.starts_differ) == ("undecided", 4, 0)
    assert render_message(found.advice).startswith("A longer run helps most: --budget ")
    cpu = next(one for one in found.figures if one.name == "cpu")
    assert cpu.needed is not None
    lines = list(gate_lines(found))
    assert any("open: " in line for line in lines)
    assert sum("--budget" in line for line in lines) == 1, "one advice"


def test_one_that_was_interrupted_says_so_and_advises_nothing(twin: RecordedRun) -> None:
    cut = replace(twin, looks=[], trials=[one for one in twin.trials if one.group == "rate" and one.block < 4])
    found = gate_of(cut)
    assert render_message(found.message) == "NOT DECIDED: interrupted after 3 starts of both"
    assert found.advice is None
    assert {one.needed for one in found.figures} == {None}


def test_at_a_rate_the_cpu_has_the_pace_of_the_p99(tmp_path: Path) -> None:
    found = gate_of(read_run(unpacked("gate-rate", tmp_path)))
    assert [one.name for one in found.figures][:2] == ["cpu", "p99"]
    assert found.starts_differ == 0.1
    assert "taken to differ by 10 %" in render_message(found.advice), "what was measured is far narrower"


def test_what_is_open_says_what_it_did_show_and_that_tolerance_is_green(twin: RecordedRun) -> None:
    """The same measurement under the tolerance that the line names: the gate keeps its word."""
    found = gate_of(twin)
    shown = found.message.figures["shown"]
    assert shown is not None
    at_most, tolerance = shown.figures["at_most"], shown.figures["tolerance"]
    assert 0.03 < at_most <= tolerance < at_most + 0.01
    assert f"--not-slower-than '{100 * tolerance:.0f} %' is green by it" in render_message(found.message)
    wider = gate_of(with_waiting(twin, [1.0], tolerance=tolerance))
    assert (wider.verdict, wider.status) == ("same", 0)
    narrower = gate_of(with_waiting(twin, [1.0], tolerance=tolerance - 0.015))
    assert narrower.verdict == "undecided"
