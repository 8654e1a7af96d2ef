"""What is said of a head where the base differs from itself: in no output anything but the values of both."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.changed_facts import with_drive, written
from tests.frozen_runs import unpacked

from loadstone.addons.gate.ci.formats import bencher, junit
from loadstone.addons.gate.ci.summary import summary
from loadstone.addons.gate.outcome import gate_of
from loadstone.addons.gate.result import GateResult
from loadstone.addons.gate.section import gate_section
from loadstone.addons.gate.spec import Gate
from loadstone.addons.gate.terminal import gate_lines
from loadstone.experiment.spec.experiment import Experiment
from loadstone.judge.analysis.analyse import analyse_run
from loadstone.judge.analysis.analysis import Comparison, Family
from loadstone.judge.verdict import Side, Verdict
from loadstone.report import markdown_report
from loadstone.report.document import SectionTable
from loadstone.run_folder.reading import read_run
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message


def verdict(metric: str, loss: float) -> Verdict:
    """By how much B is slower, with an interval of 2 % to either side."""
    sign = -1 if metric == "goodput_per_s" else 1
    ends = sorted(math.log1p(sign * (loss + by)) for by in (-0.02, 0.0, 0.02))
    low, estimate, high = ends
    slower = {"kind": "faster", "winner": "a", "materially": True}
    return Verdict(
        metric=metric, larger_is_faster=sign < 0, margin=0.03, blocks=20, blocks_min=14, level=0.9998,
        a=Side(name="base", typical=26_000.0), b=Side(name="head", typical=32_000.0),
        estimate=estimate, low=low, high=high, **(slower if loss > 0.05 else {"kind": "equivalent"}),
    )  # fmt: skip


def compared(loss: float) -> Comparison:
    return Comparison.model_construct(
        primary=verdict("goodput_per_s", loss), costs=[verdict("cpu_ns.base", loss)], place=""
    )


def gated(twin: float) -> GateResult:
    """A gate whose head is slower by 22 %, and whose base differs from itself by so much."""
    family = Family.model_construct(name="rate", comparisons=[compared(0.22)], twin=compared(twin))
    plan = SimpleNamespace(groups=[], budget_s=60.0)
    experiment = Experiment.with_add_ons().model_construct(gate=Gate(base="v1", head="v2"), servers={}, subjects={})
    run: Any = SimpleNamespace(experiment=experiment, plan=plan, path=Path("gate"), environment={})
    found = gate_of(run, [family], [], 61.0)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def invalid() -> GateResult:
    return gated(0.19)


def test_a_quiet_twin_leaves_the_claim() -> None:
    found = gated(0.001)
    assert found.verdict == "slower"
    assert "SLOWER by 22 %" in junit(found)
    assert json.loads(bencher(found))


def test_the_values_of_both_stay_and_no_claim_does(invalid: GateResult) -> None:
    assert (invalid.verdict, invalid.decided_by) == ("invalid", ["rate", "cpu"])
    for one in invalid.figures:
        assert (one.base, one.head, one.verdict) == (26_000.0, 32_000.0, "unclaimed")
        assert not any((one.ratio, one.low, one.high, one.slower, one.slower_low, one.slower_high, one.visible))
    assert next(one.slower for one in invalid.twin) == pytest.approx(0.19)


def test_markdown_and_terminal_have_no_standing(invalid: GateResult) -> None:
    row = next(line for line in summary(invalid).splitlines() if line.startswith("| CPU per request"))
    assert row == "| CPU per request | — | — | 26 µs | 32 µs | — | +19 % \\[17, 21\\] |"
    assert "●" not in summary(invalid), "nothing is drawn of it"
    assert "  CPU per request    26 µs → 32 µs: nothing is claimed" in list(gate_lines(invalid))


def test_the_reports_section_has_no_standing(invalid: GateResult) -> None:
    table = gate_section(invalid).blocks[0]
    assert isinstance(table, SectionTable)
    cells = table.lines[1].cells
    assert [cell.value for cell in cells[1:4]] == [None, 26_000.0, 32_000.0]
    assert [render_message(cell.said) for cell in cells if cell.said is not None] == ["—", "+19 % [17, 21]"]


def test_in_a_test_report_the_verdict_and_the_twin_are_errors(invalid: GateResult) -> None:
    suite = ElementTree.fromstring(junit(invalid)).find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("failures", "errors", "skipped")} == {
        "failures": "0", "errors": "3", "skipped": "2",
    }  # fmt: skip
    assert {str(case.get("classname")) for case in suite if case.find("skipped") is not None} == {
        "loadstone gate.figures"
    }


def test_bencher_gets_nothing(invalid: GateResult) -> None:
    assert json.loads(bencher(invalid)) == {}


def dearer(trial: TrialRecord) -> TrialRecord:
    """A trial of the twin whose requests cost twice as much CPU."""
    if trial.condition.get("twin") != "twin":
        return trial
    slices = written(trial)["drive"]["slices"]
    for one in slices:
        for part in one["parts"].values():
            part.update({name: 2 * part[name] for name in ("cpu_s", "turn_cpu_s")})
    return with_drive(trial, slices=slices)


def test_the_comparisons_of_its_report_claim_nothing(tmp_path: Path) -> None:
    """Nor what is made of them: the list of runs, the lessons, what its tables conclude."""
    run = read_run(unpacked("gate-twin", tmp_path))
    found = analyse_run(replace(run, trials=list(map(dearer, run.trials))))
    gate = found.part(GateResult)
    assert gate is not None
    assert (gate.verdict, gate.decided_by) == ("invalid", ["cpu"])
    pairs = [one for family in found.families for one in family.comparisons]
    assert {(one.primary.kind, one.primary.refusal and one.primary.refusal.name) for one in pairs} == {
        ("invalid", "twin")
    }
    assert not any(one.costs or one.exploratory for one in pairs)
    report = markdown_report.render(found)["report.md"].decode()
    assert "head against base: INVALID: twin, measured" in report
    assert "UNDECIDED: " not in report
