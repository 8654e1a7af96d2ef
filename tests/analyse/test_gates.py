"""The outcome of a gate, from the folder of a real one that is changed in one thing."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.frozen_runs import unpacked

from loadstone.analyse.analysis import analyse_run
from loadstone.judge.gate_result import GateResult
from loadstone.record.reading import Run, read_run
from loadstone.report.gate import gate_lines
from loadstone.report.text.sentences import text


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two settings of a Redis, that start again for each block; nothing is decided."""
    return read_run(unpacked("gate-twin", tmp_path_factory.mktemp("run")))


def gate_of(run: Run) -> GateResult:
    found = analyse_run(run).gate
    assert found is not None
    return found


def test_what_it_had_no_time_for_has_a_budget(twin: Run) -> None:
    found = gate_of(twin)
    assert (found.verdict, found.status, found.starts_differ) == ("undecided", 4, 0)
    assert text(found.advice).startswith("Helps most: --budget ")
    cpu = next(one for one in found.figures if one.name == "cpu")
    assert cpu.needed is not None
    assert "open: slower by " in "\n".join(gate_lines(found))


def test_one_that_was_interrupted_says_so_and_advises_nothing(twin: Run) -> None:
    cut = replace(twin, looks=[], trials=[one for one in twin.trials if one.group == "rate" and one.block < 4])
    found = gate_of(cut)
    assert text(found.message) == "NOT DECIDED: interrupted after 3 starts of both"
    assert found.advice is None
    assert {one.needed for one in found.figures} == {None}


def test_at_a_rate_the_cpu_has_the_pace_of_the_p99(tmp_path: Path) -> None:
    found = gate_of(read_run(unpacked("gate-rate", tmp_path)))
    assert [one.name for one in found.figures][:2] == ["cpu", "p99"]
    assert found.starts_differ == 0.1
    assert "taken to differ by 10 %" in text(found.advice), "what was measured is far narrower"
