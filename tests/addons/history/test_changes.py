"""Hints over runs: which runs are looked at together, and what is said of them."""

import csv
import io
import math
from typing import Any

import numpy as np
import pytest
from tests.frozen_runs import unpacked

from loadstone.addons.history.changes import History, first_figures, history_of
from loadstone.addons.history.history_report import csv_text, figure_lines, overview_lines
from loadstone.addons.history.run_differences import gate_command
from loadstone.addons.history.trends import GOODPUT, RunFigures, TrendFigure, run_figures
from loadstone.addons.history.trends_chart import over_runs_chart
from loadstone.judge.analysis.analyse import analyse_run
from loadstone.run_folder.reading import read_run

PLANTED = 14


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> RunFigures:
    run = read_run(unpacked("json-documents", tmp_path_factory.mktemp("run")))
    return run_figures(run, analyse_run(run), 0.0)


def day(run: RunFigures, number: int, factor: float, version: str = "8.2.1", machine: str = "") -> RunFigures:
    """The first condition of the run on another day, so much faster, of another version or on another machine."""
    environment = dict(run.surroundings.environment)
    environment["servers"] = {"redis": {**environment["servers"]["redis"], "version": version}}
    if machine:
        environment["machine"] = {**environment["machine"], "machine_id": machine}
    place = run.places[0]
    figures = {
        name: TrendFigure(value=one.value * factor, low=one.value * factor * 0.98, high=one.value * factor * 1.02)
        for name, one in place.figures.items()
    }
    return run.model_copy(
        update={
            "run": f"day-{number}",
            "began_unix_s": number * 86_400.0,
            "places": [place.model_copy(update={"figures": figures})],
            "surroundings": run.surroundings.model_copy(update={"environment": environment}),
        }
    )


def planted(run: RunFigures, runs: int = 24, **later: Any) -> History:
    """A history that is 8 % slower from run 15 on."""
    noise = np.random.default_rng(7).normal(0, 0.01, runs)
    days = [
        day(run, number, math.exp(float(noise[number])))
        if number < PLANTED
        else day(run, number, math.exp(float(noise[number])) * 0.92, **later)
        for number in range(runs)
    ]
    return history_of("json-documents", days[::-1], first_figures(days), {})


def test_an_upgrade_of_the_server_is_where_it_changed(measured: RunFigures) -> None:
    history = planted(measured, version="7.0.15")
    (figure,) = history.figures
    assert len(figure.over.lines) == 2
    assert len(figure.courses) == figure.looked == 1
    (hint,) = figure.hints
    assert (hint.before.number, hint.after.number, hint.after.run) == (PLANTED, PLANTED + 1, f"day-{PLANTED}")
    assert hint.low < 0.92 < hint.high < 1
    text = "\n".join(figure_lines(history, 120))
    assert "changed between run 14 and 15: 8" in text
    assert "lower" in text
    assert "server redis: version is 8.2.1 in run 14 and 7.0.15 in run 15" in text
    assert text.endswith("`loadstone gate redis --base redis=8.2.1 --head redis=7.0.15`")
    assert all(len(line) <= 120 for line in text.splitlines()[:-1])
    chart = over_runs_chart(figure.over, figure.hints)
    assert chart is not None
    assert chart.svg().count(b"changed between run 14 and 15") == 1


@pytest.mark.parametrize(
    ("later", "command"),
    [
        ({"version": "7.0.15"}, "gate redis --base redis=8.2.1 --head redis=7.0.15"),
        (
            {"settings": {"hz": "10", "io-threads": "2"}},
            "gate redis --base redis=8.2.1,io-threads=1 --head redis=8.2.1,io-threads=2",
        ),
        ({"settings": {"hz": "10", "io-threads": "$(x)"}}, "gate --base EARLIER --head LATER"),
        ({"software": "memcached"}, "gate --base EARLIER --head LATER"),
        ({}, "gate --base EARLIER --head LATER"),
    ],
)
def test_the_gate_that_would_confirm_it(measured: RunFigures, later: dict[str, Any], command: str) -> None:
    server = {"software": "redis", "version": "8.2.1", "settings": {"hz": "10", "io-threads": "1"}}
    before, after = (
        measured.surroundings.model_copy(update={"environment": {"servers": {"redis": one}}})
        for one in (server, server | later)
    )
    assert gate_command(before, after) == f"loadstone {command}"


def test_another_machine_is_no_change(measured: RunFigures) -> None:
    (figure,) = planted(measured, machine="1" * 32).figures
    assert (len(figure.over.lines), figure.looked, figure.hints) == (2, 2, [])


def test_few_runs_are_told_so(measured: RunFigures) -> None:
    history = planted(measured, runs=6)
    assert history.figures[0].looked == 0
    assert figure_lines(history, 80)[-1].startswith("Too few runs to look for a change")


def test_a_history_for_programs(measured: RunFigures) -> None:
    history = planted(measured)
    assert History.model_validate_json(history.model_dump_json()) == history
    rows = list(csv.DictReader(io.StringIO(csv_text(history))))
    assert [int(row["number"]) for row in rows] == list(range(1, 25))
    assert {(row["branch"], row["line"]) for row in rows} == {("1", "A")}
    assert {row["metric"] for row in rows} == {GOODPUT}
    assert all(float(row["low"]) < float(row["value"]) < float(row["high"]) for row in rows)
    assert rows[0]["time"] == "1970-01-01T00:00:00Z"


def test_a_stranger_s_names_are_no_commands(measured: RunFigures) -> None:
    """Of a terminal, nor of a spreadsheet."""
    place = measured.places[0]
    named = measured.model_copy(
        update={"run": "=cmd|'/c calc'!A1", "places": [place.model_copy(update={"label": "@x\x1b[2J\nY"})]}
    )
    history = history_of("x\x1b]0;y", [named], first_figures([named]), {})
    for text in ("".join(figure_lines(history, 100)), "".join(overview_lines(history))):
        assert "\x1b" not in text
    (row,) = csv.DictReader(io.StringIO(csv_text(history)))
    assert (row["run"], row["condition"]) == ("'=cmd|'/c calc'!A1", "'@x [2J Y")


def test_an_overview_has_a_line_a_condition(measured: RunFigures) -> None:
    runs = [measured.model_copy(update={"run": f"day-{one}", "began_unix_s": float(one)}) for one in range(3)]
    history = history_of("json-documents", runs, first_figures(runs), {})
    lines = overview_lines(history)
    assert len([line for line in lines if "▄▄▄" in line]) == len(measured.places)
    assert lines[0] == "3 runs of json-documents"
