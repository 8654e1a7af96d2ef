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
