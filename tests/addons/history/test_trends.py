"""A figure across runs: lines of what `loadstone compare` would compare, from figures of frozen runs."""

from typing import Any

import pytest
from tests.frozen_runs import unpacked

from loadstone.addons.history.trends import GOODPUT, RATIO, RunFigures, metrics_of, over_runs, places_of, run_figures
from loadstone.addons.history.trends_chart import over_runs_chart
from loadstone.judge.analysis.analyse import analyse_run
from loadstone.run_folder.reading import read_run
from loadstone.text.sentences import render_message


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> RunFigures:
    run = read_run(unpacked("json-documents", tmp_path_factory.mktemp("run")))
    return run_figures(run, analyse_run(run), 0.0)


def again(run: RunFigures, day: int, **server: Any) -> RunFigures:
    """The same figures on a later day, with something else of the server, or of the machine."""
    environment = dict(run.surroundings.environment)
    machine = server.pop("machine", environment["machine"])
    environment |= {"servers": {"redis": {**environment["servers"]["redis"], **server}}, "machine": machine}
    surroundings = run.surroundings.model_copy(update={"environment": environment})
    return run.model_copy(update={"run": f"day-{day}", "began_unix_s": day * 86_400.0, "surroundings": surroundings})


def test_figures_survive_being_kept(measured: RunFigures) -> None:
    assert RunFigures.model_validate_json(measured.model_dump_json()) == measured
    labels = places_of([measured])
    pair = next(key for key, label in labels.items() if label.startswith("storage: string against json"))
    assert metrics_of([measured], pair) == [RATIO]
    ratio = next(one for one in measured.places if one.key == pair).figures[RATIO]
    assert ratio.low is not None
    assert ratio.high is not None
    assert 1 < ratio.low < ratio.value < ratio.high


def test_a_line_holds_only_what_is_alike(measured: RunFigures) -> None:
    key = next(key for key in places_of([measured]) if key.startswith("condition"))
    other = {**measured.surroundings.environment["machine"], "machine_id": "1" * 64}
    runs = [
        *(again(measured, day) for day in (1, 2, 5)),
        *(again(measured, day, version="7.0.15") for day in (3, 4)),
        again(measured, 6, machine=other),
    ]
    found = over_runs(runs, key, GOODPUT)
    assert [[point.run for point in line.points] for line in found.lines] == [
        ["day-6"],
        ["day-1", "day-2", "day-5"],
        ["day-3", "day-4"],
    ]
    assert found.lines[0].unlike == []
    assert render_message(found.lines[1].unlike[0]) == "A and B were measured on different machines"
    assert "version" in render_message(found.lines[2].unlike[1])
    chart = over_runs_chart(found)
    assert chart is not None
    assert chart.svg().count(b"<title>day-") == len(runs)


def test_another_load_is_another_line_and_slices_that_got_longer_are_not(measured: RunFigures) -> None:
    place = next(one for one in measured.places if one.key.startswith("pair"))

    def with_load(run: RunFigures, slice_s: float, settled: bool, **load: Any) -> RunFigures:
        driven = [
            one.model_copy(update={"slice_s": slice_s, "settled": settled, "load": {**one.load, **load}})
            for one in place.driven
        ]
        return run.model_copy(update={"places": [place.model_copy(update={"driven": driven})]})

    plain = with_load(again(measured, 1), 0.1, True)
    longer, deeper = {"interval_s": 9.0}, {"pipeline_depth": 7}
    for slice_s, settled, load, lines in (
        (0.4, True, longer, 1),
        (0.1, False, longer, 1),
        (0.4, False, longer, 2),
        (0.1, True, deeper, 2),
    ):
        found = over_runs([plain, with_load(again(measured, 2), slice_s, settled, **load)], place.key, RATIO)
        assert len(found.lines) == lines


def test_runs_without_the_figure_are_named(measured: RunFigures) -> None:
    bare = again(measured, 3).model_copy(update={"places": []})
    key = next(iter(places_of([measured])))
    found = over_runs([measured, bare], key, GOODPUT)
    assert (len(found.lines), found.without) == (1, ["day-3"])
    nothing = over_runs([bare], key, GOODPUT)
    assert nothing.lines == []
    assert over_runs_chart(nothing) is None
