"""The pictures of comparisons: nothing is claimed that the verdict does not claim."""

import json
import math
from typing import Any

import altair as alt
import pytest

from loadstone.judge.analysis.analysis import Analysis, Comparison, EffectCell, EffectsAnswer, Family
from loadstone.report.charts.chart import Chart, draw
from loadstone.report.charts.chart_list import charts_of
from loadstone.report.charts.effects_chart import effects_chart
from loadstone.report.charts.forest_chart import forest_chart
from loadstone.report.charts.theme import reach, ticks
from loadstone.report.verdicts import verdict_text
from loadstone.text.message import verbatim


@pytest.fixture(scope="module")
def charts(judged: Analysis) -> dict[str, Chart]:
    return {chart.name: chart for chart in charts_of(judged)}


def values_of(chart: Chart, data: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = chart.spec["datasets"][data]
    return found


def domain_of(chart: Chart) -> list[float]:
    [low, high] = chart.spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
    return [low, high]


def changed(family: Family, **primary: Any) -> Family:
    """The family with another first judgement."""
    first: Comparison = family.comparisons[0]
    other = first.model_copy(update={"primary": first.primary.model_copy(update=primary)})
    return family.model_copy(update={"comparisons": [other, *family.comparisons[1:]]})


def test_every_family_has_its_two_pictures_before_the_tables(charts: dict[str, Chart]) -> None:
    assert list(charts)[:4] == ["storage-forest", "storage-blocks", "client-library-forest", "client-library-blocks"]


@pytest.mark.parametrize("name", ["storage-forest", "storage-blocks", "client-library-forest", "client-library-blocks"])
def test_a_specification_keeps_to_the_schema_and_is_drawn(charts: dict[str, Chart], name: str) -> None:
    chart = charts[name]
    alt.Chart.from_dict({**chart.spec, "datasets": {}})
    assert chart.svg().decode().startswith("<svg")
    assert chart.png().startswith(b"\x89PNG")


def test_every_pair_has_a_row_with_its_verdict_as_text(judged: Analysis, charts: dict[str, Chart]) -> None:
    drawing = charts["storage-forest"].svg().decode()
    for comparison in judged.families[0].comparisons:
        assert verdict_text(comparison.primary) in drawing
    assert "±5 %: does not matter" in drawing
    assert "(log scale)" in drawing


def test_what_has_no_interval_or_is_invalid_has_no_place_on_the_axis(charts: dict[str, Chart]) -> None:
    pairs = values_of(charts["storage-forest"], "pairs") + values_of(charts["client-library-forest"], "pairs")
    without = [pair for pair in pairs if pair["estimate"] is None]
    assert [pair["kind"] for pair in without] == ["INVALID", "UNDECIDED"]
    assert all(pair["low"] is None and not pair["filled"] for pair in without)
    assert {pair["kind"] for pair in pairs if pair["filled"]} == {"FASTER", "EQUIVALENT", "MIXED"}


def test_kinds_differ_in_shape_and_not_in_colour_alone(charts: dict[str, Chart]) -> None:
    marks = [layer for layer in charts["storage-forest"].spec["layer"] if "shape" in layer["encoding"]]
    shapes = marks[0]["encoding"]["shape"]["scale"]["range"]
    assert len(set(shapes)) == len(shapes) == 3


def test_the_zone_is_the_margin(charts: dict[str, Chart]) -> None:
    for pair in values_of(charts["client-library-forest"], "pairs"):
        assert pair["zone_low"] == pytest.approx(-math.log(1.1))
        assert pair["zone_high"] == pytest.approx(math.log(1.1))


def test_one_huge_interval_does_not_flatten_the_others(judged: Analysis) -> None:
    family = judged.families[0]
    wide = changed(family, kind="undecided", estimate=0.05, low=-9.0, high=math.inf)
    small = family.model_copy(update={"comparisons": wide.comparisons[:3]})
    chart = forest_chart(small)
    assert chart is not None
    low, high = domain_of(chart)
    assert -1 < low < -0.1
    assert 0.1 < high < 1
    first = values_of(chart, "pairs")[0]
    assert (first["low"], first["high"]) == (low, high)
    assert (first["cut_low"], first["cut_high"]) == (low, high)
    assert "An arrow" in chart.caption
    assert chart.svg().decode().startswith("<svg")


def test_an_estimate_is_never_cut_off(judged: Analysis) -> None:
    chart = forest_chart(changed(judged.families[0], estimate=4.0, low=3.9, high=4.1))
    assert chart is not None
    first = values_of(chart, "pairs")[0]
    assert first["estimate"] == 4.0
    assert domain_of(chart)[1] > 4.1


def test_an_end_that_was_infinite_when_it_was_written_is_one_still(judged: Analysis) -> None:
    endless = changed(judged.families[0], kind="undecided", estimate=0.05, low=-0.01, high=math.inf)
    read = Family.model_validate_json(endless.model_dump_json())
    chart = forest_chart(read)
    assert chart is not None
    assert values_of(chart, "pairs")[0]["cut_high"] is not None


def test_blocks_stand_in_the_order_of_time_with_who_ran_first(judged: Analysis, charts: dict[str, Chart]) -> None:
    points = values_of(charts["storage-blocks"], "points")
    first = [point for point in points if point["pair"] == 0]
    assert [point["block"] for point in first] == list(range(1, 13))
    orders = {view.trial: view.order for view in judged.trials}
    for point in first:
        assert point["first"] == ("json first" if orders[point["a"]] < orders[point["b"]] else "string first")
    assert {point["first"] for point in first} == {"json first", "string first"}


def test_an_invalid_pair_shows_no_block(charts: dict[str, Chart]) -> None:
    assert {point["pair"] for point in values_of(charts["storage-blocks"], "points")} == {0, 1, 2, 3}
    assert "Pairs not shown, being invalid, without a ratio, or too many: 1." in charts["storage-blocks"].caption


def test_a_stall_is_drawn_at_the_edge_with_a_ring(charts: dict[str, Chart]) -> None:
    points = [point for point in values_of(charts["client-library-blocks"], "points") if point["pair"] == 1]
    assert [point["block"] for point in points if point["beyond"]] == [3, 9, 14, 33]
    assert "Rings mark blocks outside the chart." in charts["client-library-blocks"].caption


@pytest.mark.parametrize(("low", "high"), [(-0.02, 0.02), (-0.2, 0.3), (1.3, 1.5), (-0.3, 1.4), (-3.0, 6.0)])
def test_ticks_are_round_in_per_cent_and_far_enough_apart(low: float, high: float) -> None:
    found = ticks(low, high, 6)
    assert 2 <= len(found) <= 9
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)
    for tick in found:
        assert 100 * math.expm1(tick) == pytest.approx(round(100 * math.expm1(tick), 2), abs=1e-6)
    if low < 0 < high:
        assert any(abs(tick) < 1e-9 for tick in found)


def test_the_axis_reaches_as_far_as_what_is_usual() -> None:
    assert reach([0.1, 0.12, 0.2], 0.05) == 0.2
    assert reach([0.1, 0.12, 9.0], 0.05) == 0.12
    assert reach([math.inf], 0.05) == 0.05


def test_pictures_name_things_and_no_letters(charts: dict[str, Chart]) -> None:
    for chart in charts.values():
        drawn = json.dumps(chart.spec) + chart.caption
        for word in ("first against second", "B against A", "A first", "trial of A"):
            assert word not in drawn, (chart.name, word)
    assert "trial of json" in json.dumps(charts["storage-blocks"].spec)


@pytest.mark.parametrize(("apart", "kind"), [(1.2, "linear"), (10.0, "log")])
def test_combinations_that_are_close_are_not_flattened_by_their_scale(
    judged: Analysis, apart: float, kind: str
) -> None:
    cells = [
        EffectCell(condition={"redis": level}, label=level, levels=[level, "one"], figure=figure, low=0.99 * figure,
                   high=1.01 * figure)
        for level, figure in (("local", 1000.0), ("remote", apart * 1000.0))
    ]  # fmt: skip
    answer = EffectsAnswer(
        name="redis", question="?", note="", metric="goodput_per_s", factors=["redis", "processes"],
        answer=verbatim("so"), terms=[], cells=cells,
    )  # fmt: skip
    with alt.utils.schemapi.debug_mode(False):  # as all pictures of a report are made
        chart = effects_chart(answer, judged.families[0])
    assert chart is not None
    scale = chart.spec["layer"][0]["encoding"]["y"]["scale"]
    assert (scale["type"], scale["zero"]) == (kind, False)
    assert ("logarithmic" in chart.caption) == (kind == "log")
    assert "<svg" in draw(chart.spec)
