"""Where a request's CPU goes: every part of every condition, in its place, with the interval of the whole."""

from typing import Any

import altair as alt
import pytest

from loadstone.judge.analysis.analysis import Analysis, Row
from loadstone.judge.verdict import CpuCost
from loadstone.report import markdown_report
from loadstone.report.charts.chart import Chart, draw
from loadstone.report.charts.chart_list import charts_of
from loadstone.report.charts.cost_chart import cost_chart
from loadstone.report.html import page as html_report

REDIS = {"redis": CpuCost(ns=9_000, low_ns=8_600, high_ns=9_400)}
SEVERAL = {
    "generator": CpuCost(ns=25_000),
    "spring": CpuCost(ns=94_000),
    "redis": CpuCost(ns=4_000, low_ns=3_900, high_ns=4_100),
}


def with_costs(analysis: Analysis, *costs: dict[str, CpuCost], label: str = "", **changes: Any) -> Analysis:
    """The analysis with a table of one row for each of `costs`, in which its sum has an interval of 5 %."""
    rows = [_row(analysis.tables[0].rows[0], number, one, label, changes) for number, one in enumerate(costs)]
    return analysis.model_copy(update={"tables": [analysis.tables[0].model_copy(update={"rows": rows})]})


def _row(row: Row, number: int, costs: dict[str, CpuCost], label: str, changes: dict[str, Any]) -> Row:
    ns = sum(cost.ns for cost in costs.values())
    whole = CpuCost(ns=ns, low_ns=0.95 * ns, high_ns=1.05 * ns) if len(costs) > 1 else None
    own = {"condition": {**row.condition, "number": number}, "label": f"{label or 'condition'} {number}"}
    return row.model_copy(update={**own, "costs": costs, "whole_cost": whole, "verdict": "valid", **changes})


def drawn(analysis: Analysis) -> Chart:
    chart = cost_chart(analysis)
    assert chart is not None
    return chart


def test_a_run_without_costs_has_no_such_picture(analysis: Analysis) -> None:
    assert cost_chart(analysis) is None
    assert all(chart.kind != "cost" for chart in charts_of(analysis))


def test_pieces_follow_each_other_in_the_order_of_the_way(analysis: Analysis) -> None:
    chart = drawn(with_costs(analysis, REDIS, SEVERAL))
    first, *pieces = chart.spec["datasets"]["parts"]
    assert (first["part"], first["begin"], first["end"]) == ("redis", 0, 9_000)
    assert [piece["part"] for piece in pieces] == ["client", "spring", "redis"]
    assert [(piece["begin"], piece["end"]) for piece in pieces] == [(0, 25_000), (25_000, 119_000), (119_000, 123_000)]
    figures = [whole["figure"] for whole in chart.spec["datasets"]["wholes"]]
    assert figures == ["9.0 µs [8.6, 9.4]", "25 µs + 94 µs + 4.0 µs = 123 µs [117, 129]"]
    svg = chart.svg().decode()
    assert svg.index(">client<") < svg.index(">spring<") < svg.index(">redis<"), "the legend has the order, too"
    assert "redis: 4.0 µs [3.9, 4.1]" in svg
    assert "share: 76 %" in svg
    assert chart.alt_text.startswith("CPU per request of client, spring and redis. condition 1: 25 µs + 94 µs")


def test_a_bar_that_is_many_times_the_others_is_cut(analysis: Analysis) -> None:
    costs = [{"redis": CpuCost(ns=ns)} for ns in (6_000, 7_000, 8_000, 9_000, 10_000, 130_000)]
    chart = drawn(with_costs(analysis, *costs))
    ends = [piece["end"] for piece in chart.spec["datasets"]["parts"]]
    assert ends[:5] == [6_000, 7_000, 8_000, 9_000, 10_000]
    assert 10_000 < ends[5] < 20_000
    assert [whole["figure"] for whole in chart.spec["datasets"]["wholes"]][5] == "▸ 130 µs"
    assert "Bars and lines beyond the chart are clipped; their figures are complete" in chart.caption
    assert "130 µs, the most" in chart.alt_text
    few = drawn(with_costs(analysis, *costs[3:]))
    assert max(piece["end"] for piece in few.spec["datasets"]["parts"]) == 130_000


def test_one_part_is_a_plain_bar(analysis: Analysis) -> None:
    chart = drawn(with_costs(analysis, REDIS))
    assert chart.title == "CPU per request of redis"
    assert "pieces" not in chart.caption
    assert "compare bars" not in chart.caption
    assert ">redis<" not in chart.svg().decode(), "no legend"


@pytest.mark.parametrize("rows", [1, 12, 24, 60])
def test_names_and_figures_keep_apart_whatever_their_number_and_length(analysis: Analysis, rows: int) -> None:
    long = "a condition of many factors, 1,000 users, redis-always, payload 100 kB"
    chart = drawn(with_costs(analysis, *[SEVERAL] * rows, label=long))
    for spec in (chart.spec, chart.narrow or {}):
        alt.Chart.from_dict({**spec, "datasets": {}, "config": {}})
        drawing = draw(spec)
        shown = min(rows, 24)
        assert drawing.count('fill-opacity="0.9"') == 3 * shown
        width = float(drawing.split('width="')[1].split('"')[0])
        assert width < (350 if spec is chart.narrow else 1_800)
    assert ("36 more conditions in the tables" in chart.caption) == (rows == 60)


def test_a_condition_whose_parts_were_not_seen_is_counted(analysis: Analysis) -> None:
    chart = drawn(with_costs(analysis, REDIS, {}))
    assert "1 condition had parts whose CPU could not be seen." in chart.caption


def test_an_interval_that_dwarfs_all_bars_is_cut(analysis: Analysis) -> None:
    full = with_costs(analysis, REDIS, {"redis": CpuCost(ns=5_000, low_ns=1_000, high_ns=90_000)})
    assert [one["cut"] for one in drawn(full).spec["datasets"]["wholes"]] == [False, True]
    assert max(one["high"] for one in drawn(full).spec["datasets"]["wholes"]) <= 1.25 * 9_000
    assert "clipped" in drawn(full).caption


def test_two_conditions_of_one_name_are_two_bars(analysis: Analysis) -> None:
    full = with_costs(analysis, SEVERAL, SEVERAL)
    (table,) = full.tables
    first, second = (row.model_copy(update={"label": "set"}) for row in table.rows)
    tables = [table.model_copy(update={"rows": [first], "title": "One"}), table.model_copy(update={"rows": [second]})]
    chart = drawn(full.model_copy(update={"tables": tables}))
    names = [whole["condition"] for whole in chart.spec["datasets"]["wholes"]]
    assert names == ["set (One)", f"set ({table.title})"]


def test_both_sides_of_a_comparison_are_drawn_though_no_table_has_them(judged: Analysis) -> None:
    pairs = [one for family in judged.families for one in family.comparisons if one.primary.a.typical]
    cost = pairs[0].primary.model_copy(update={"metric": "cpu_ns.redis", "role": "cost"})
    cost = cost.model_copy(update={"a": cost.a.model_copy(update={"typical": 9_000.0}),
                                   "b": cost.b.model_copy(update={"typical": 6_000.0})})  # fmt: skip
    family = judged.families[0].model_copy(update={"comparisons": [pairs[0].model_copy(update={"costs": [cost]})]})
    chart = drawn(judged.model_copy(update={"families": [family], "tables": []}))
    said = {one["condition"]: one["figure"] for one in chart.spec["datasets"]["wholes"]}
    assert set(said.values()) == {"9.0 µs", "6.0 µs"}
    assert all(name.startswith((cost.a.name, cost.b.name)) for name in said)


def test_the_reports_show_it_on_their_first_page(analysis: Analysis) -> None:
    full = with_costs(analysis, SEVERAL)
    page = html_report.render(full)["report.html"].decode()
    assert page.index('id="picture-cost"') < page.index('<div id="details">')
    assert "## Where a request's CPU goes" in markdown_report.render(full)["report.md"].decode()
