"""A table's factors decide its pictures, whatever the experiment."""

from collections.abc import Callable
from itertools import product

import pytest

from loadstone.experiment.spec.levels import Level
from loadstone.judge.analysis.analysis import Analysis, FactorView, ResultTable
from loadstone.report.charts.shape import ChartAxes, axis_text, level_text, number_of, shape_of
from loadstone.report.charts.theme import duration_ticks


def shape(build: Callable[..., Analysis], *, alone: bool = True, **vary: list[Level]) -> ChartAxes:
    """The shape of a table that varies just this; `alone`: no other table of its report has colours."""
    analysis = build()
    row = analysis.tables[0].rows[0]
    rows = [row.model_copy(update={"condition": dict(zip(vary, c, strict=True))}) for c in product(*vary.values())]
    return shape_of(
        ResultTable(name="t", title="T", note="", vary=vary, rows=rows),
        analysis.model_copy(update={"tables": []} if alone else {}),
    )


def test_a_size_runs_along_the_axis_and_the_name_has_the_colours(build: Callable[..., Analysis]) -> None:
    found = shape(build, operation=["set", "get"], payload=["10 B", "1 kB", "100 kB"])
    assert (found.along, found.colour, found.panels) == ("payload", "operation", ())
    assert found.ticks() == {10: "10 B", 1000: "1 kB", 100_000: "100 kB"}
    assert found.is_log()


def test_the_longest_quantity_runs_along_and_the_other_makes_panels(build: Callable[..., Analysis]) -> None:
    found = shape(build, operation=["set", "get"], payload=["100 B", "1 kB", "10 kB"], workers=[4, 8, 16, 32])
    assert (found.along, found.colour, found.panels) == ("workers", "operation", ("payload",))
    assert list(found.ticks().values()) == ["4", "8", "16", "32"]


def test_the_name_that_changes_fastest_has_the_colours(build: Callable[..., Analysis]) -> None:
    found = shape(build, operation=["set", "get"], storage=["json", "hash"])
    assert (found.along, found.colour, found.panels, found.group) == (None, "storage", ("operation",), "operation")
    among = shape(build, alone=False, operation=["set", "get"], storage=["json", "hash"])
    assert (among.colour, among.panels) == ("operation", ("storage",)), "as in the first table of the report"
    assert among.palette["set"] != among.palette["get"]


def test_two_levels_of_a_quantity_are_compared_as_bars(build: Callable[..., Analysis]) -> None:
    found = shape(build, warm_up=["on", "off"], workers=[1, 32])
    assert (found.along, found.colour) == (None, "warm_up")


def test_levels_close_together_need_no_log_scale(build: Callable[..., Analysis]) -> None:
    found = shape(build, users=[1000, 2000, 3000])
    assert found.along == "users"
    assert not found.is_log()


def test_a_zero_among_the_levels_forbids_a_log_scale(build: Callable[..., Analysis]) -> None:
    assert not shape(build, think_time=["0 ms", "2 ms", "200 ms"]).is_log()


def test_a_factor_with_one_level_plays_no_part(build: Callable[..., Analysis]) -> None:
    found = shape(build, operation=["set"], aof=["no", "everysec", "always"])
    assert (found.along, found.colour, found.panels) == (None, "aof", ())


def test_a_switch_is_neither_one_nor_zero(build: Callable[..., Analysis]) -> None:
    found = shape(build, tls=[True, False])
    assert found.texts("tls") == ["on", "off"]


@pytest.mark.parametrize(
    ("level", "number"),
    [("10 kB", 10_000), ("250 ms", 0.25), (8, 8), (0.5, 0.5), ("json", None), ("10 parsecs", None), (True, None)],
)
def test_number_of(level: Level, number: float | None) -> None:
    assert number_of(level) == number


def test_a_unit_is_said_once() -> None:
    workers = FactorView(title="Workers", unit="workers")
    assert (level_text(8, workers), level_text(1, workers), axis_text(8, workers)) == ("8 workers", "1 worker", "8")
    assert axis_text(8, FactorView(title="Rate", unit="requests/s")) == "8 requests/s"


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([55_000, 180_000], [50_000, 100_000, 200_000]),
        ([1_000_000], [1_000_000]),
        ([1_000, 5_000_000_000], [10.0**exponent for exponent in range(3, 11)]),
    ],
)
def test_ticks_of_a_time_axis_are_round_and_hold_all(lengths: list[float], expected: list[float]) -> None:
    assert duration_ticks(lengths) == expected
