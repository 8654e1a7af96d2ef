from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console

from loadstone.judge.analysis.analysis import Analysis, Bottleneck, PartName, ResultTable, Row, Stalls
from loadstone.judge.verdict import CpuCost
from loadstone.report import csv_report, summary
from loadstone.report.csv_report import fixed_rate_cells
from loadstone.report.document import SectionTable
from loadstone.report.tables.column import Column
from loadstone.report.tables.columns import (
    COLUMNS,
    USUAL,
    columns_for,
    end_columns,
    fixed_rate_columns,
    fixed_rate_lines,
    full_load_columns,
    rate_name,
)
from loadstone.report.tables.figure_table import figure_table
from loadstone.report.terminal.tables import table_parts
from loadstone.text.message import message, verbatim


def test_each_column_has_one_key_and_tables_name_columns_by_it() -> None:
    assert [column.key for column in COLUMNS.values()] == list(COLUMNS)
    assert {column.key for column in USUAL} <= set(COLUMNS)
    assert {"tps", "goodput_per_s", "throughput_interval", "goodput_interval"} <= set(COLUMNS)


def test_what_a_spreadsheet_has_of_a_column_stands_in_tables_csv() -> None:
    """Under a header that no other column has."""
    named = {*csv_report.BEFORE_LATENCIES, *csv_report.AFTER_LATENCIES, *csv_report.AFTER_PARTS, *csv_report.SOMETIMES}
    assert {key for key, column in COLUMNS.items() if column.csv} == named
    found = [header for column in COLUMNS.values() for header in column.csv]
    assert len(found) == len(set(found))


def keys(columns: list[Column]) -> set[str]:
    return {column.key for column in columns}


def test_columns_without_a_word_to_say_are_left_out(analysis: Analysis) -> None:
    assert "errors" in keys(columns_for(analysis.tables[1]))
    assert "published" in keys(columns_for(analysis.tables[1]))
    assert not {"errors", "published", "pool_wait"} & keys(columns_for(analysis.tables[3]))


def test_a_wait_for_connections_gets_its_column(analysis: Analysis) -> None:
    table = analysis.tables[3]
    wait = table.rows[0].response_ns
    rows = [table.rows[0].model_copy(update={"pool_wait_ns": wait}), table.rows[1]]
    columns = columns_for(table.model_copy(update={"rows": rows}))
    [column] = [column for column in columns if column.key == "pool_wait"]
    assert [column.cell(row) for row in rows] == ["58 µs", "448 ns"]


def test_a_missing_figure_says_why(analysis: Analysis) -> None:
    rows = {row.label: row for table in analysis.tables for row in table.rows}

    def why(key: str, row: Row) -> str:
        return COLUMNS[key].why_missing(row)

    assert why("p999", rows["set, 10 B, 1 worker"]) == "88,009 samples; 100 beyond the quantile are needed"
    assert why("p50", rows["set, 10 B, 1 worker"]) == ""
    assert why("p50", rows["get, 10 kB, 16 workers"]) == "not measured"
    assert why("goodput_per_s", rows["set, 10 kB, 32 workers"]).startswith("without the generator the rate could be ")


def test_a_quantile_without_a_reason_says_so(analysis: Analysis) -> None:
    row = analysis.tables[0].rows[0]
    p99, p999 = COLUMNS["p99"], COLUMNS["p999"]
    few = row.model_copy(update={"unmeasurable": {"p999": verbatim("too few")}})
    assert (p999.unmeasurable(few), p99.unmeasurable(few)) == ("too few", "")
    unsaid = row.model_copy(update={"unmeasurable": {"p99": verbatim("")}})
    assert p99.unmeasurable(unsaid) == "the data do not support it"


def test_what_of_a_latency_may_be_the_generators_own_stands_beside_it(analysis: Analysis) -> None:
    row = analysis.tables[0].rows[0]
    p50, p99, maximum = (COLUMNS[key] for key in ("p50", "p99", "max"))
    assert row.response_ns is not None
    response = row.response_ns.model_copy(update={"p50": 104_000, "p99": 400_000, "max": None})
    least = response.model_copy(update={"p50": 62_000, "p99": 390_000})
    bounded = row.model_copy(update={"response_ns": response, "least_ns": least})
    assert [column.cell(bounded) for column in (p50, p99, maximum)] == ["104 µs (≤ 42 µs generator)", "400 µs", "—"]
    unmeasured = bounded.model_copy(update={"least_ns": None})
    assert [column.cell(unmeasured) for column in (p50, p99)] == ["104 µs", "400 µs"]


def test_a_doubted_latency_says_so_where_it_stands_and_its_row_keeps_its_mark(analysis: Analysis) -> None:
    row = analysis.tables[0].rows[0]
    p50, rate = (COLUMNS[key] for key in ("p50", "goodput_per_s"))
    doubted = row.model_copy(update={"latencies_doubted": True})
    assert p50.cell(doubted) == f"! {p50.cell(row)}"
    assert (rate.cell(doubted), doubted.verdict) == (rate.cell(row), "valid")


def table_of(analysis: Analysis, name: str = "by-concurrency") -> ResultTable:
    return next(table for table in analysis.tables if table.name == name)


def headers(analysis: Analysis) -> list[str]:
    return [column.header for column in columns_for(table_of(analysis))]


def test_latencies_of_a_table_are_those_at_the_fixed_rate(paced: Analysis) -> None:
    found = headers(paced)
    assert [header for header in found if "rate" in header] == [
        "half rate", "P50 at half rate", "P99 at half rate", "P99.9 at half rate",
    ]  # fmt: skip
    assert not {"P50", "P95", "P99", "P99.9", "min", "max", "avg"} & set(found)
    row = table_of(paced).rows[0]
    held, p50, *_ = (column for column in columns_for(table_of(paced)) if "rate" in column.header)
    assert row.at_rate is not None
    assert row.at_rate.response_ns is not None
    assert held.value(row) == row.at_rate.rate_per_s
    assert p50.value(row) == row.at_rate.response_ns.p50


def test_latencies_under_full_load_stand_apart(paced: Analysis, judged: Analysis) -> None:
    table = table_of(paced)
    apart = full_load_columns(table)
    assert [column.header for column in apart] == ["min", "max", "avg", "P50", "P95", "P99", "P99.9"]
    row = table.rows[0]
    assert row.response_ns is not None
    assert next(column for column in apart if column.header == "P99").value(row) == row.response_ns.p99
    assert full_load_columns(table_of(judged)) == []
    assert "P99" in headers(judged)


@pytest.mark.parametrize(("share", "name"), [(0.5, "half rate"), (0.3, "30 % rate"), (None, "fixed rate")])
def test_the_rate_is_called_by_what_it_is(
    judged: Analysis, fixed_rates: ModuleType, share: float | None, name: str
) -> None:
    found = table_of(fixed_rates.with_fixed_rates(judged, share))
    assert rate_name(found.rows) == name
    explained = next(column.explanation for column in columns_for(found) if column.header == name)
    assert ("capacity" in explained) == (share is not None)


def test_a_rate_that_is_another_share_is_not_called_by_the_one_that_was_meant(
    judged: Analysis, fixed_rates: ModuleType
) -> None:
    found = table_of(fixed_rates.with_fixed_rates(judged, 0.5))
    row = next(one for one in found.rows if one.at_rate and one.at_rate.rate_per_s and one.goodput_per_s)
    assert row.at_rate is not None
    other = row.at_rate.model_copy(update={"rate_per_s": 0.3 * (row.goodput_per_s or 0)})
    rows = [one.model_copy(update={"at_rate": other}) if one is row else one for one in found.rows]
    assert rate_name(rows) == "fixed rate"
    lines = list(fixed_rate_lines(found.model_copy(update={"rows": rows})))
    assert f"The rate of {row.label} is 30 % of what it did, where 50 % were meant" in lines


def test_a_refused_figure_says_why_in_its_cell_and_in_the_notes(paced: Analysis) -> None:
    table = table_of(paced)
    rows = {row.label: row for row in table.rows}
    p99 = next(column for column in columns_for(table) if column.key == "p99_at_rate")
    assert p99.cell(rows["set, 1 kB, 8 workers"]) == "—"
    assert p99.why_missing(rows["set, 1 kB, 8 workers"]).startswith("The generator sent requests up to 3.4 ms late")
    assert p99.is_struck(rows["set, 1 kB, 8 workers"])
    assert not p99.is_struck(rows["set, 100 B, 8 workers"])
    assert p99.why_missing(rows["set, 10 kB, 32 workers"]).startswith("No trial at full speed is valid")
    notes = [line for line in summary.latency_lines(table) if "half rate" in line]
    assert notes == [
        "No figures at half rate for 4 of 36 conditions (e.g. set, 10 kB, 32 workers): No trial at full speed is "
        "valid, so the rate is not known.",
        "Figures at half rate refused for set, 1 kB, 8 workers: The generator sent requests up to 3.4 ms late: its "
        "limit is 5 % of P50.",
        "Figures at half rate refused for set, 10 kB, 8 workers: The generator sent requests up to 4.5 ms late: its "
        "limit is 5 % of P50.",
        "Figures at half rate are suspect for set, 100 B, 8 workers: The generator sent requests up to 3.4 ms late: "
        "its limit is 5 % of P50.",
    ]


def test_the_table_at_the_end_has_them_too(paced: Analysis, build: Callable[..., Analysis]) -> None:
    rows = table_of(paced).rows
    assert [column.header for column in end_columns(rows, tps=False)] == [
        "RPS", "95 % interval", "half rate", "P50 at half rate", "P99 at half rate", "P99.9 at half rate",
        "bottleneck", "published",
    ]  # fmt: skip
    assert [column.header for column in end_columns(table_of(build()).rows, tps=False)] == [
        "RPS", "P50", "P99", "published",
    ]  # fmt: skip


def test_a_studys_own_latencies_stand_apart_with_what_was_published_of_them(
    application: Analysis, fixed_rates: ModuleType
) -> None:
    table = fixed_rates.with_fixed_rates(application).tables[0]
    keys = [column.key for column in columns_for(table)]
    own = [column.key for column in columns_for(application.tables[0])]
    apart = [column.key for column in full_load_columns(table)]
    assert [key for key in own if key not in keys] == apart
    assert apart
    assert [key for key in keys if key not in own] == ["at_rate", "p50_at_rate", "p99_at_rate", "p999_at_rate"]


def settled_row(analysis: Analysis) -> Row:
    """A row whose P99 at its rate was made by one slice, with intervals."""
    row = next(row for row in table_of(analysis).rows if row.at_rate and row.at_rate.response_ns)
    assert row.at_rate is not None
    assert row.at_rate.response_ns is not None
    why = message("quantile_one_unit", quantile="p99", unit="slice", units=8, share=0.97, without_ns=71_000.0)
    response = row.at_rate.response_ns.model_copy(update={"p50": 25_000, "p99": 1_280_000})
    changed = {
        "response_ns": response,
        "least_ns": response.model_copy(update={"p50": 23_000, "p99": 914_000}),
        "response_interval_ns": {"p50": (24_000.0, 27_000.0), "p99": (71_000.0, 3_900_000.0)},
        "interval_units": 8,
        "interval_unit": "slice",
        "unsettled": {"p99": why},
        "doubted": ["p99"],
        "latencies_doubted": True,
    }
    return row.model_copy(update={"at_rate": row.at_rate.model_copy(update=changed)})


def test_an_interval_stands_behind_its_figure_and_a_mark_before_the_one_it_is_about(paced: Analysis) -> None:
    row = settled_row(paced)
    _, p50, p99, _ = fixed_rate_columns([row])
    assert p50.cell(row) == "25 µs [24, 27] (≤ 2.0 µs generator)"
    assert p99.cell(row) == "! 1.28 ms [71 µs, 3.90 ms] (≤ 366 µs generator)"
    assert row.at_rate is not None
    open_end = row.at_rate.model_copy(update={"response_interval_ns": {"p50": (24_000.0, None)}})
    assert p50.cell(row.model_copy(update={"at_rate": open_end})) == "25 µs [24, ∞] (≤ 2.0 µs generator)"


def printed(table: SectionTable, width: int) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(*table_parts(table, width))
    return captured.get()


def test_for_want_of_room_one_bracket_says_both(paced: Analysis) -> None:
    row = settled_row(paced)
    table = figure_table(fixed_rate_columns([row])[1:3], [row])
    assert "25 µs [24, 27] (≤ 2.0 µs generator)  ! 1.28 ms [71 µs, 3.90 ms] (≤ 366 µs generator)" in printed(table, 120)
    narrow = printed(table, 70)
    assert "25 µs [24, 27] ! 1.28 ms [71 µs, 3.90 ms]" in narrow, "the interval that the files have"
    assert "generator" not in narrow


def test_headings_break_and_costs_are_summed_before_a_column_goes(analysis: Analysis) -> None:
    costs = {"client": CpuCost(ns=13_000), "redis": CpuCost(ns=8_900)}
    row = analysis.tables[0].rows[0].model_copy(update={"costs": costs, "label": "set"})
    table = figure_table([COLUMNS["goodput_per_s"], COLUMNS["cost"], COLUMNS["p50"]], [row])
    wide, broken, short, least = (printed(table, width) for width in (120, 58, 40, 30))
    assert "client 13 µs + redis 8.9 µs" in wide
    assert "client 13 µs + redis 8.9 µs" in broken
    assert "CPU per request" in broken
    assert "CPU per request" not in short
    assert "CPU per" in short
    assert "22 µs" in short
    assert "client" not in short
    assert "P50" in short
    assert "22 µs" not in least
    assert "P50" in least


@pytest.mark.parametrize(("part", "is_printed"), [("unknown", False), ("server", True)])
def test_a_bottleneck_that_is_known_nowhere_takes_no_room(
    analysis: Analysis, part: PartName, *, is_printed: bool
) -> None:
    bottleneck = Bottleneck(part=part, message=verbatim("Why."), evidence={})
    rows = [row.model_copy(update={"bottleneck": bottleneck}) for row in analysis.tables[0].rows]
    assert ("held_back" in keys(end_columns(rows, tps=False))) is is_printed


def test_a_rare_stall_is_a_finding_of_its_own_in_table_text_and_spreadsheet(paced: Analysis) -> None:
    row = settled_row(paced)
    assert row.at_rate is not None
    figures: dict[str, Any] = {"longest_ns": 4_100_000.0, "all_ns": 1_280_000.0}
    said = message(
        "quantile_stalls", quantile="p99", unit="slice", stalled=2, units=60, low=0.004, high=0.115, **figures
    )
    stalls = Stalls(
        units=2, of=60, share_low=0.004, share_high=0.115, longest_ns=4.1e6, without_ns=330_000.0,
        least_without_ns=290_000.0, said=said,
    )  # fmt: skip
    changed = {"stalls": {"p99": stalls}, "response_interval_ns": {"p99": (250_000.0, 380_000.0)}, "unsettled": {}}
    row = row.model_copy(update={"at_rate": row.at_rate.model_copy(update={**changed, "doubted": ["mean"]})})
    p99 = fixed_rate_columns([row])[2]
    assert p99.cell(row) == "330 µs† [250, 380] (≤ 40 µs generator)"
    lines = summary.latency_lines(table_of(paced).model_copy(update={"rows": [row]}))
    assert lines[-1] == (
        f"† Stalls, {row.label}: P99: 2 of 60 slices held a stall (0.4 to 12 %), the longest 4.10 ms; the figure is "
        "of the others, and 1.28 ms over all."
    )
    cells = fixed_rate_cells(row)
    assert cells["at_rate_response_p99_ns"] == 1_280_000, "over everything"
    assert cells["at_rate_response_p99_without_stalls_ns"] == 330_000.0
    assert (cells["at_rate_response_p99_low_ns"], cells["at_rate_response_p99_high_ns"]) == (250_000.0, 380_000.0)
    assert (cells["at_rate_response_p99_stalled_units"], cells["at_rate_response_p99_longest_stall_ns"]) == (2, 4.1e6)


def test_what_does_not_repeat_is_named_below_the_table(paced: Analysis) -> None:
    table = table_of(paced)
    row = settled_row(paced)
    assert row.at_rate is not None
    without = {"no_interval": message("quantile_interval_needs", needed=8, units=4, unit="slice"), "unsettled": {}}
    other = row.model_copy(update={"at_rate": row.at_rate.model_copy(update=without), "label": "another"})
    lines = summary.latency_lines(table.model_copy(update={"rows": [row, row, other]}))
    assert lines[-2:] == [
        f"Suspect, 2 of 3 conditions (e.g. {row.label}): P99: one of 8 slices holds 97 % of the replies beyond it: a "
        "stall, not the condition; without it P99 is 71.0 µs.",
        "Without an interval, another: an interval needs 8 slices, and there are 4",
    ]


def test_a_spreadsheet_has_both_ends_and_the_doubts(paced: Analysis) -> None:
    cells = fixed_rate_cells(settled_row(paced))
    assert (cells["at_rate_response_p99_low_ns"], cells["at_rate_response_p99_high_ns"]) == (71_000.0, 3_900_000.0)
    assert cells["at_rate_response_p95_low_ns"] is None
    assert (cells["at_rate_interval_units"], cells["at_rate_interval_unit"]) == (8, "slice")
    assert cells["at_rate_doubted"] == "p99"
    assert str(cells["at_rate_unsettled"]).startswith("P99: one of 8 slices")
