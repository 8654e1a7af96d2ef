"""Gates over runs: which of them make a line, and what their intervals hold."""

import csv
import io
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.changed_facts import with_facts, written
from tests.frozen_runs import unpacked

from loadstone.addons.gate.result import GateResult
from loadstone.addons.gate.starts import starts_reach
from loadstone.addons.history.changes import History, first_figures, history_of
from loadstone.addons.history.history_report import csv_text, figure_lines, overview_lines
from loadstone.addons.history.trends import RunFigures, TrendFigure, run_figures
from loadstone.addons.history.trends_chart import over_runs_chart
from loadstone.judge.analysis.analyse import analyse_run
from loadstone.judge.analysis.analysis import Analysis
from loadstone.run_folder.reading import RecordedRun, read_run
from loadstone.run_folder.trial import TrialRecord

Measured = tuple[RecordedRun, Analysis]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """A gate of two Redis, whose servers start again for each block."""
    run = read_run(unpacked("gate-twin", tmp_path_factory.mktemp("run")))
    return run, analyse_run(run)


def gate_of(analysis: Analysis) -> GateResult:
    found = analysis.part(GateResult)
    assert found is not None
    return found


def figures(measured: Measured, day: int, **changed: Any) -> RunFigures:
    """The figures of the gate on another day, with other trials, groups or servers of the run, or another outcome."""
    run, analysis = measured
    gate = gate_of(analysis)
    servers = {**run.environment["servers"], **changed.pop("servers", {})}
    environment = {**run.environment, "servers": servers, **changed.pop("environment", {})}
    plan = run.plan.model_copy(update={"groups": changed.pop("groups", run.plan.groups)})
    trials = list(map(changed.pop("trial", lambda one: one), run.trials))
    other = replace(run, environment=environment, plan=plan, trials=trials)
    outcome = analysis.with_part("gate", gate.model_copy(update=changed))
    return run_figures(other, outcome, float(day)).model_copy(update={"run": f"day-{day}"})


def history(*runs: RunFigures, metric: str = "gate.cpu") -> History:
    return history_of("gate", runs, first_figures(runs, metric), {})


def with_plan(change: Callable[[dict[str, Any]], Any]) -> Callable[[TrialRecord], TrialRecord]:
    """Trials with another plan, by what changes it in place."""

    def changed(trial: TrialRecord) -> TrialRecord:
        plan = written(trial)["plan"]
        change(plan)
        return with_facts(trial, plan=plan)

    return changed


def in_lines(found: History) -> list[list[str]]:
    return [[point.run for point in line.points] for figure in found.figures for line in figure.over.lines]


def test_gates_under_one_load_make_a_line_whatever_machine_they_ran_on(measured: Measured) -> None:
    elsewhere = {"machine": {"machine_id": "f" * 32, "cpu_count": 64}}

    def roomier(plan: dict[str, Any]) -> None:
        plan["threads"], plan["model"]["spin_us"] = 4, 0.0

    runs = [figures(measured, 1), figures(measured, 2, environment=elsewhere, trial=with_plan(roomier))]
    (figure,) = history(*runs).figures
    (line,) = figure.over.lines
    assert figure.over.label == "redis: cpu"
    _, analysis = measured
    cpu = next(one for one in gate_of(analysis).figures if one.name == "cpu")
    shown = line.points[0].figure
    assert (shown.value, cpu.interval_level > 0.99) == (cpu.ratio, True)
    assert cpu.low < shown.low < shown.value < shown.high < cpu.high, "at 95 %, where the gate's own is wider"


def another_pool(plan: dict[str, Any]) -> None:
    plan["pool"]["connections"] = 7


def another_command(plan: dict[str, Any]) -> None:
    plan["operations"][0]["commands"][0]["args"][0] = "INCR"


@pytest.mark.parametrize("change", [another_pool, another_command])
def test_another_load_is_another_line(measured: Measured, change: Callable[[dict[str, Any]], Any]) -> None:
    found = history(figures(measured, 1), figures(measured, 2, trial=with_plan(change)), figures(measured, 3))
    assert in_lines(found) == [["day-1", "day-3"], ["day-2"]]
    assert found.figures[0].courses == [["day-1", "day-3"], ["day-2"]]
    assert found.figures[0].over.lines[1].unlike
    both = overview_lines(history_of("gate", [figures(measured, 1), figures(measured, 2)], [], {}))
    assert both[-1] == "A change is looked for from 8 gates of one base and load on."


def test_the_rate_that_a_gate_chose_is_no_other_load(measured: Measured) -> None:
    """Of the P99: half of what the slower one does, another number each time. Where it was asked for, it is."""
    run, analysis = measured
    p99 = next(one for one in gate_of(analysis).figures if one.name == "p99")
    known = p99.model_copy(update={"ratio": 1.1, "low": 1.0, "high": 1.2, "interval_level": 0.99})

    def slower(plan: dict[str, Any]) -> None:
        if plan["model"]["kind"] == "open":
            plan["model"]["rate_per_s"] /= 2

    by_itself = [replace(one, fixed_rate=None) for one in run.plan.groups]
    for groups, lines in ((run.plan.groups, 1), (by_itself, 2)):
        given = {"figures": [known], "groups": groups}
        found = history(
            figures(measured, 1, **given), figures(measured, 2, trial=with_plan(slower), **given), metric="gate.p99"
        )
        assert len(found.figures[0].over.lines) == lines


def test_a_base_that_was_upgraded_is_another_line(measured: Measured) -> None:
    """By its name alone, `redis`, it is the same; another version of the head is what is asked."""
    servers = measured[0].environment["servers"]
    newer = {name: {name: {**servers[name], "version": "99.1"}} for name in ("base", "head")}
    for name, lines in (("head", [["day-1", "day-2"]]), ("base", [["day-2"], ["day-1"]])):
        assert in_lines(history(figures(measured, 1), figures(measured, 2, servers=newer[name]))) == lines


def once(measured: Measured, day: int, **changed: Any) -> RunFigures:
    groups = [replace(one, rounds=replace(one.rounds, processes="once")) for one in measured[0].plan.groups]
    return figures(measured, day, groups=groups, starts_differ=0.1, **changed)


def test_what_is_started_once_is_another_line_and_its_intervals_hold_what_starts_differ_by(measured: Measured) -> None:
    found = history(figures(measured, 1), once(measured, 2), once(measured, 3))
    labels = {one.over.label: one.over.lines for one in found.figures}
    assert {label: len(lines) for label, lines in labels.items()} == {"redis: cpu": 1, "redis: cpu, started once": 1}
    again, started_once = (lines[0].points[0].figure for _, lines in sorted(labels.items()))

    def reach(one: TrendFigure) -> tuple[float, float]:
        return math.log(one.value / one.low), math.log(one.high / one.value)

    starts = starts_reach(0.1, 0.95)
    for wider, own in zip(reach(started_once), reach(again), strict=True):
        assert wider == pytest.approx(math.hypot(own, starts))


def test_noise_of_starts_is_no_hint(measured: Measured) -> None:
    """Ten gates and ten more, 16 % apart: starts of one version of what is started once differ by as much."""
    _, analysis = measured
    cpu = next(one for one in gate_of(analysis).figures if one.name == "cpu")

    def gate(make: Callable[..., RunFigures], day: int) -> RunFigures:
        ratio = (1.0 if day < 10 else 1.16) * (1 + 0.002 * (day * 7 % 5))
        changed = {"ratio": ratio, "low": ratio * 0.98, "high": ratio * 1.02}
        head = "v2" if day < 10 else "v3"
        return make(measured, day, figures=[cpu.model_copy(update=changed)], head=head)

    (started_once,) = history(*(gate(once, day) for day in range(20))).figures
    assert (started_once.looked, started_once.hints) == (1, [])
    (again,) = history(*(gate(figures, day) for day in range(20))).figures
    assert [hint.after.number for hint in again.hints] == [11]
    text = "\n".join(figure_lines(history(*(gate(figures, day) for day in range(20))), 120))
    assert "head is v2 in run 10 and v3 in run 11" in text
    assert text.endswith("in turns: `loadstone gate --base EARLIER --head LATER`")
    assert "redis: cpu: CPU per request, head/base" in text
    rows = csv.DictReader(io.StringIO(csv_text(history(*(gate(figures, day) for day in range(20))))))
    assert [row["head"] for row in rows] == 10 * ["v2"] + 10 * ["v3"]
    chart = over_runs_chart(again.over, again.hints)
    assert chart is not None
    assert "whatever machines they ran on" in chart.caption
    assert "4 % more" not in chart.caption, "that is of runs, which share no turns"


def test_many_gates_without_a_figure_are_counted(measured: Measured) -> None:
    """P99 is not measured where the rate and the CPU are known to be lost."""
    _, analysis = measured
    known = [one for one in gate_of(analysis).figures if one.name == "cpu"]
    without = [figures(measured, day, figures=[]) for day in range(2, 5)]
    few = [figures(measured, 1, figures=known), *without]
    assert "Without this figure: day-2, day-3, day-4" in figure_lines(history(*few), 120)
    many = [*few, *(figures(measured, day, figures=[]) for day in range(5, 9))]
    assert "Without this figure: 7 runs, those whose numbers are missing" in figure_lines(history(*many), 120)


def test_an_invalid_gate_has_no_place(measured: Measured) -> None:
    _, analysis = measured
    unclaimed = [one.model_copy(update={"verdict": "unclaimed", "ratio": None}) for one in gate_of(analysis).figures]
    assert figures(measured, 1, verdict="invalid", figures=unclaimed).places == []
