from loadstone.analyse.model import Analysis, Row
from loadstone.message import as_written
from loadstone.report.tables.column import Column
from loadstone.report.tables.columns import COLUMNS, columns_for


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
        return next(column for column in COLUMNS if column.key == key).why_missing(row)

    assert why("p999", rows["set, 10 B, 1 worker"]) == "88,009 samples; 100 beyond the quantile are needed"
    assert why("p50", rows["set, 10 B, 1 worker"]) == ""
    assert why("p50", rows["get, 10 kB, 16 workers"]) == "not measured"
    assert why("goodput_per_s", rows["set, 10 kB, 32 workers"]).startswith("without the generator the rate could be ")


def test_a_quantile_without_a_reason_says_so(analysis: Analysis) -> None:
    row = analysis.tables[0].rows[0]
    p99, p999 = (column for column in COLUMNS if column.key in ("p99", "p999"))
    few = row.model_copy(update={"unmeasurable": {"p999": as_written("too few")}})
    assert (p999.unmeasurable(few), p99.unmeasurable(few)) == ("too few", "")
    unsaid = row.model_copy(update={"unmeasurable": {"p99": as_written("")}})
    assert p99.unmeasurable(unsaid) == "the data do not support it"


def test_what_of_a_latency_may_be_the_generators_own_stands_beside_it(analysis: Analysis) -> None:
    row = analysis.tables[0].rows[0]
    p50, p99, maximum = (column for key in ("p50", "p99", "max") for column in COLUMNS if column.key == key)
    assert row.response_ns is not None
    response = row.response_ns.model_copy(update={"p50": 104_000, "p99": 400_000, "max": None})
    least = response.model_copy(update={"p50": 62_000, "p99": 390_000})
    bounded = row.model_copy(update={"response_ns": response, "least_ns": least})
    assert [column.cell(bounded) for column in (p50, p99, maximum)] == ["104 µs (≤ 42 µs ours)", "400 µs", "—"]
    unmeasured = bounded.model_copy(update={"least_ns": None})
    assert [column.cell(unmeasured) for column in (p50, p99)] == ["104 µs", "400 µs"]


def test_a_doubted_latency_says_so_where_it_stands_and_its_row_keeps_its_mark(analysis: Analysis) -> None:
    row = analysis.tables[0].rows[0]
    p50, rate = (column for key in ("p50", "goodput_per_s") for column in COLUMNS if column.key == key)
    doubted = row.model_copy(update={"latencies_doubted": True})
    assert p50.cell(doubted) == f"! {p50.cell(row)}"
    assert (rate.cell(doubted), doubted.verdict) == (rate.cell(row), "valid")
