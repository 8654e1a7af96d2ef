"""Every picture: a right specification, honest axes, nothing drawn that was not measured."""

from collections.abc import Callable
from typing import Any

import altair as alt
import pytest

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report import figure_format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.chart import Chart, draw
from loadstone.report.charts.chart_list import charts_of
from loadstone.report.charts.latency_chart import latency_chart
from loadstone.report.charts.rate_chart import rate_chart
from loadstone.report.charts.shape import shape_of, shape_of_run
from loadstone.report.charts.timeline_chart import _marked
from loadstone.report.tables.columns import columns_for
from loadstone.report.tables.figure_table import figure_table


@pytest.fixture(scope="module")
def charts(analysis: Analysis) -> dict[str, Chart]:
    return {chart.name: chart for chart in charts_of(analysis)}


def values_of(chart: Chart, data: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = chart.spec["datasets"][data]
    return found


def test_every_table_has_its_two_pictures_and_the_run_two_more(charts: dict[str, Chart]) -> None:
    tables = ["by-size", "by-concurrency", "storage", "two"]
    pairs = [f"{table}-{kind}" for table in tables for kind in ("rps", "latency")]
    assert list(charts) == [*pairs, "timeline", "percentiles", "checks"]


@pytest.mark.parametrize(
    "name", ["by-concurrency-rps", "storage-latency", "two-rps", "timeline", "percentiles", "checks"]
)
def test_a_specification_keeps_to_the_schema(charts: dict[str, Chart], name: str) -> None:
    chart = charts[name]
    assert chart.spec["datasets"]
    alt.Chart.from_dict({**chart.spec, "datasets": {}})


@pytest.mark.parametrize("name", ["by-concurrency-rps", "storage-latency", "two-rps"])
def test_a_form_for_phones_keeps_to_the_schema_and_is_as_narrow(charts: dict[str, Chart], name: str) -> None:
    narrow = charts[name].narrow
    assert narrow is not None
    alt.Chart.from_dict({**narrow, "datasets": {}, "config": {}})
    drawing = draw(narrow)
    width = float(drawing.split('width="')[1].split('"')[0])
    assert width < 350


def test_bars_are_there_to_be_seen(application: Analysis) -> None:
    table = application.tables[0]
    chart = rate_chart(table, application)
    assert chart is not None
    for spec in (chart.spec, chart.narrow or {}):
        drawing = draw(spec)
        assert "></clipPath>" not in drawing, "what is clipped to nothing is not seen"
        assert drawing.count('fill-opacity="0.9"') == len(table.rows)


def test_latencies_at_a_fixed_rate_are_drawn_and_full_load_is_not(paced: Analysis) -> None:
    table = paced.tables[1]
    chart = latency_chart(table, paced)
    assert chart is not None
    assert chart.heading == "Response time at half rate by condition"
    at_rates = {row.label: row.at_rate.response_ns for row in table.rows if row.at_rate and row.at_rate.response_ns}
    points = values_of(chart, "percentiles")
    assert {point["condition"] for point in points} == set(at_rates)
    for point in points:
        quantile = {"P50": "p50", "P95": "p95", "P99": "p99", "P99.9": "p999"}[point["quantile"]]
        assert point["ns"] == getattr(at_rates[point["condition"]], quantile)
    assert "6 of 36 conditions have no valid figure" in chart.caption


def test_latencies_under_full_load_are_called_what_they_are(paced: Analysis) -> None:
    table = paced.tables[1]
    without = [row.model_copy(update={"at_rate": None}) for row in table.rows]
    chart = latency_chart(table.model_copy(update={"rows": without}), paced)
    assert chart is not None
    assert chart.heading == "Response time by condition"
    assert "users / throughput" in chart.caption


def test_an_interval_is_a_line_and_one_that_dwarfs_all_others_is_cut(judged: Analysis) -> None:
    table = judged.tables[1]
    chart = rate_chart(table, judged)
    assert chart is not None
    first = values_of(chart, "conditions")[0]
    assert (first["low"], first["high"]) == table.rows[0].goodput_interval
    assert "its interval" in chart.caption
    assert "clipped" not in chart.caption
    wild = table.rows[0].model_copy(update={"goodput_interval": (1.0, 1e9)})
    cut = rate_chart(table.model_copy(update={"rows": [wild, *table.rows[1:]]}), judged)
    assert cut is not None
    highest = max(row.goodput_per_s or 0.0 for row in table.rows)
    assert values_of(cut, "conditions")[0]["high"] <= 1.25 * highest
    assert "clipped" in cut.caption


def test_every_picture_becomes_svg_and_png(charts: dict[str, Chart]) -> None:
    for chart in charts.values():
        drawing = chart.svg().decode()
        assert drawing.startswith("<svg")
        assert chart.title in drawing
        assert chart.heading == chart.title or f">{chart.title}<" not in chart.inline()
    assert charts["two-rps"].png().startswith(b"\x89PNG")


def test_rates_start_at_zero_and_a_log_axis_says_so(charts: dict[str, Chart]) -> None:
    chart = charts["by-size-rps"]
    drawing = chart.svg().decode()
    assert "Rates start at 0." in chart.caption
    assert ">0<" in drawing
    assert "Payload of the document (log scale)" in drawing
    assert "The axis of the payload of the document is on a log scale." in chart.caption


def test_rates_far_apart_are_on_a_log_scale_and_say_so(build: Callable[..., Analysis]) -> None:
    full = build()
    rows = [row.model_copy(update={"goodput_per_s": 10.0 ** (i + 1)}) for i, row in enumerate(full.tables[0].rows[:4])]
    table = full.tables[0].model_copy(update={"rows": rows})
    chart = charts_of(full.model_copy(update={"tables": [table]}))[0]
    assert "Rates are on a log scale." in chart.caption
    assert "RPS (log scale)" in chart.svg().decode()


def test_published_figures_stand_beside_ours(charts: dict[str, Chart]) -> None:
    points = values_of(charts["by-size-rps"], "conditions")
    published = [point["rps"] for point in points if point["kind"] == "published" and point["colour"] == "set"]
    assert published == [1089, 1394, 1005, 899, 799, 395]
    assert "published figures" in charts["by-size-rps"].caption
    assert all(point["kind"] == "measured" for point in values_of(charts["storage-rps"], "conditions"))


def test_an_invalid_condition_has_no_figure_in_any_picture(analysis: Analysis, charts: dict[str, Chart]) -> None:
    invalid = {row.label for table in analysis.tables for row in table.rows if row.verdict == "invalid"}
    assert len(invalid) == 2
    for chart in charts.values():
        for name in ("conditions", "percentiles"):
            for point in chart.spec["datasets"].get(name, []):
                assert point["condition"] not in invalid or point["kind"] == "published"
    assert "4 of 36 conditions have no valid figure" in charts["by-concurrency-latency"].caption


def test_a_suspect_figure_is_marked(charts: dict[str, Chart]) -> None:
    points = values_of(charts["by-concurrency-rps"], "conditions")
    assert [point["condition"] for point in points if point["kind"] == "suspect"] == ["update, 1 kB, 8 workers"]
    assert "A ring marks a suspect figure." in charts["by-concurrency-rps"].caption


def test_a_percentile_that_cannot_be_determined_has_no_mark(charts: dict[str, Chart]) -> None:
    quantiles = {point["quantile"] for point in values_of(charts["by-size-latency"], "percentiles")}
    assert quantiles == {"P50", "P95", "P99"}
    assert "the data do not support that percentile" in charts["by-size-latency"].caption


def test_the_time_line_parts_trials_and_drops_the_drain(analysis: Analysis, charts: dict[str, Chart]) -> None:
    seconds = values_of(charts["timeline"], "seconds")
    assert len(values_of(charts["timeline"], "trials")) == len(analysis.trials)
    assert sum(point["rps"] is None for point in seconds) == len(analysis.trials)
    assert sum(point["rps"] is not None for point in seconds) == sum(p.phase != "drain" for p in analysis.timeline)
    assert {point["part"] for point in values_of(charts["timeline"], "cpu")} == {"generator", "redis", "host"}


@pytest.mark.parametrize(
    ("suspect", "invalid", "kept"),
    [(0, 0, {"valid"}), (300, 10, {"valid", "suspect", "invalid"}), (380, 10, {"valid", "suspect", "invalid"}),
     (395, 400, {"valid", "invalid"}), (900, 800, {"valid", "invalid"})],
)  # fmt: skip
def test_of_thousands_of_slices_as_many_are_marked_as_a_picture_can_show(
    suspect: int, invalid: int, kept: set[str]
) -> None:
    """The first one begins a block, whose line stays."""
    kinds = ["valid"] * 1000 + ["suspect"] * suspect + ["invalid"] * invalid
    marked = _marked([{"verdict": kind, "edge": not place} for place, kind in enumerate(kinds)])
    assert len(marked) <= 402
    assert marked[0]["edge"]
    assert {one["verdict"] for one in marked} == kept
    assert _marked(marked) == marked


def test_a_long_run_is_thinned_and_keeps_its_largest_p99(analysis: Analysis) -> None:
    stretched = [
        point.model_copy(update={"unix_s": point.unix_s + 1000 * lap, "trial": f"{point.trial}-{lap}"})
        for lap in range(3)
        for point in analysis.timeline
    ]
    chart = next(c for c in charts_of(analysis.model_copy(update={"timeline": stretched})) if c.kind == "timeline")
    seconds = [point for point in values_of(chart, "seconds") if point["rps"] is not None]
    assert len(seconds) < sum(point.phase != "drain" for point in stretched)
    assert max(point["p99"] for point in seconds) == max(point.p99_ns or 0 for point in analysis.timeline)
    assert "Each point covers up to" in chart.caption


def test_the_matrix_shows_the_worst_verdict_of_a_condition(charts: dict[str, Chart]) -> None:
    cells = values_of(charts["checks"], "checks")
    invalid = [(cell["row"], cell["check"]) for cell in cells if cell["verdict"] == "invalid"]
    assert invalid == [(label, "gain") for label in ("set, 10 kB, 32 workers", "get, 100 B, 32 workers")]
    assert {cell["verdict"] for cell in cells if cell["check"] == "replication"} == {"unknown"}


def test_few_trials_are_shown_one_by_one(analysis: Analysis) -> None:
    chart = charts_of(analysis.model_copy(update={"trials": analysis.trials[:3]}))[-1]
    assert {cell["row"] for cell in values_of(chart, "checks")} == {
        "set, 10 B, 1 worker · b01-000",
        "set, 100 B, 1 worker · b01-001",
        "set, 500 B, 1 worker · b01-002",
    }


def test_without_data_there_are_no_pictures(empty_analysis: Analysis) -> None:
    assert charts_of(empty_analysis) == []


def test_an_all_invalid_run_shows_its_course_and_its_checks_only(build: Callable[..., Analysis]) -> None:
    kinds = [chart.kind for chart in charts_of(build(all_invalid=True, missing=()))]
    assert kinds == ["timeline", "percentiles", "checks"]


def test_tables_of_like_names_do_not_share_a_file(analysis: Analysis) -> None:
    twins = [analysis.tables[3], analysis.tables[3].model_copy(update={"name": "TWO!"})]
    names = [chart.name for chart in charts_of(analysis.model_copy(update={"tables": twins}))]
    assert len(set(names)) == len(names)


def test_a_study_that_prints_tps_draws_tps(application: Analysis, analysis: Analysis) -> None:
    posts = application.tables[0]
    chart = rate_chart(posts, application)
    assert chart is not None
    assert chart.heading == "TPS"
    failing = next(row for row in posts.rows if row.errors)
    values = chart.spec["datasets"]["conditions"]
    [point] = [one for one in values if one["condition"] == failing.label and one["kind"] == "measured"]
    assert (point["rps"], point["goodput"]) == (failing.throughput_per_s, failing.goodput_per_s)
    assert "TPS counts failed replies too" in chart.caption
    published = [one["rps"] for one in values if one["kind"] == "published"]
    assert published == [row.published_columns["tps_store"] for row in posts.rows]
    plain = rate_chart(analysis.tables[1], analysis)
    assert plain is not None
    assert plain.heading.startswith("RPS by ")
    assert "TPS" not in plain.caption


def test_a_long_name_takes_room_from_the_picture(application: Analysis) -> None:
    charts = [rate_chart(table, application) for table in application.tables]
    short, long = (chart.spec for chart in charts if chart is not None)
    assert long["width"] < short["width"]
    limits = [layer["encoding"]["y"]["axis"]["labelLimit"] for layer in long["layer"]]
    assert min(limits) >= 6 * max(len(row.label) for row in application.tables[1].rows)


def test_a_condition_has_one_colour_in_all_pictures_and_tables(analysis: Analysis, charts: dict[str, Chart]) -> None:
    shape = shape_of_run(analysis)
    assert len({*shape.palette.values()}) == len(shape.palette) > 1
    for table in analysis.tables:
        own = shape_of(table, analysis)
        by_row = {fmt.plain(row.label): own.colour_of(row) for row in table.rows}
        if own.colour == shape.colour:
            assert by_row == {fmt.plain(row.label): shape.colour_of(row) for row in table.rows}
        for point in values_of(charts[f"{table.name}-latency"], "percentiles"):
            assert point["colour"] == by_row[point["condition"]]
        shown = figure_table(columns_for(table), table.rows, shape=own)
        assert [theme.SERIES[line.hue or 0] for line in shown.lines] == [own.colour_of(row) for row in table.rows]


def test_errors_over_time_have_a_panel_for_each_kind(analysis: Analysis) -> None:
    assert not any(chart.kind == "errors" for chart in charts_of(analysis))
    seconds = [
        point.model_copy(update={"errors_per_s": {"timeout": 2.0, "moved": 9.0}}) if number % 2 else point
        for number, point in enumerate(analysis.timeline)
    ]
    chart = next(c for c in charts_of(analysis.model_copy(update={"timeline": seconds})) if c.kind == "errors")
    assert [panel["title"]["text"] for panel in chart.spec["vconcat"]] == ["moved", "timeout"]
    assert {point["y"] for point in values_of(chart, "points")} == {0.0, 2.0, 9.0}
    alt.Chart.from_dict({**chart.spec, "datasets": {}})


def test_percentiles_over_time_are_the_largest_of_what_a_point_covers(analysis: Analysis) -> None:
    points = values_of(next(c for c in charts_of(analysis) if c.kind == "percentiles"), "points")
    measured = [point for point in analysis.timeline if point.phase == "measure"]
    for figure, of in (("P50", "p50_ns"), ("P99", "p99_ns")):
        most = max(getattr(point, of) for point in measured)
        assert max(point["y"] for point in points if point["figure"] == figure) <= most
    assert {point["figure"] for point in points} == {"P50", "P95", "P99"}
