"""The machine and each part while a table was measured, in every format."""

import csv
import io
from itertools import pairwise
from typing import Any

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report import csv_report
from loadstone.report import markdown_report as markdown
from loadstone.report.document import SectionTable
from loadstone.report.html import page as html
from loadstone.report.sections.observed import observed_tables
from loadstone.report.tables.observed import HEADING
from loadstone.run_folder.facts import AvgMax

VMSTAT = ["r", "b", "swpd", "free", "buff", "cache", "si", "so", "bi", "bo", "in", "cs", "us", "sy", "id", "wa", "st"]


def tables(analysis: Analysis, place: int = 0) -> dict[str, SectionTable]:
    return {table.title.partition(" (")[0]: table for table in observed_tables(analysis, analysis.tables[place])}


def texts(table: SectionTable, line: int = 0) -> dict[str, str]:
    cells = zip(table.columns[1:], table.lines[line].cells, strict=True)
    return {
        str(column.head): f"{cell.said} ({cell.aside})" if cell.said else "—"
        for column, cell in cells
        if column.kind == "figures"
    }


def parts_in(table: SectionTable) -> list[str]:
    return [str(line.cells[0].said) for line in table.lines]


def seeing(analysis: Analysis, **observed: Any) -> Analysis:
    """The analysis with one table of one row, of which just this was observed."""
    table = analysis.tables[0]
    known = {"host": "host", "generator": "driver", "redis": "redis", "mariadb": "mariadb"}
    kinds = {part: kind for part, kind in known.items() if part in observed}
    row = table.rows[0].model_copy(update={"seen": observed, "kinds": kinds})
    return analysis.model_copy(update={"tables": [table.model_copy(update={"rows": [row]})]})


def rows_of(analysis: Analysis, file: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_report.render(analysis)[file].decode())))


def test_the_machine_has_vmstats_columns_in_its_order(application: Analysis) -> None:
    host = tables(application)["The machine"]
    assert [column.head for column in host.columns[1:]] == VMSTAT
    assert len(host.lines) == len(application.tables[0].rows)
    reported = texts(host)
    assert (reported["r"], reported["b"], reported["bo"], reported["wa"]) == (
        "10 (3.4)",
        "2 (0.3)",
        "7,904 (3,300)",
        "31 (4.4)",
    )
    assert (reported["free"], reported["swpd"]) == ("2,832 (2,637)", "0 (0)")


def test_each_part_has_its_line(application: Analysis) -> None:
    parts = tables(application)["Each part"]
    assert parts_in(parts)[:3] == ["spring", "mariadb", "generator"]
    assert parts_in(parts)[-4:] == ["spring-1", "spring-2", "redis", "generator"]
    assert texts(parts) == {
        "CPU": "98 % (93 %)", "memory": "330 MB (310 MB)", "context switches /s": "6,600 (5,000)",
        "threads": "64 (61)", "sockets": "230 (220)",
    }  # fmt: skip
    assert texts(parts, 2)["sockets"] == "—"


def test_stores_and_the_jvm_have_figures_of_their_own(application: Analysis) -> None:
    found = tables(application)
    reported = texts(found["MariaDB"])
    assert (reported["buffer pool hits"], reported["disk reads /s"]) == ("100.00 % (99.98 %)", "0 (0)")
    assert texts(found["Redis"], 1)["AOF"] == "2.3 MB (1.1 MB)"
    reported = texts(found["The application's JVM"])
    assert (reported["heap"], reported["GC, of the time"], reported["longest GC"]) == (
        "190 MB (110 MB)", "4 % (1.1 %)", "23.0 ms (18.0 ms)",
    )  # fmt: skip
    assert (reported["MariaDB pool active"], reported["MariaDB pool pending"]) == ("10 (7.1)", "188 (44)")


def test_what_no_condition_has_gets_no_column(application: Analysis) -> None:
    assert "AOF" not in texts(tables(application, 1)["Redis"])
    assert "lock waits /s" not in texts(tables(application)["MariaDB"])


def test_a_plain_run_of_redis_says_nothing_of_it(analysis: Analysis, application: Analysis) -> None:
    row = application.tables[0].rows[1]
    plain = seeing(analysis, host=row.seen["host"], redis=row.seen["redis"], generator=row.seen["generator"])
    assert observed_tables(plain, plain.tables[0]) == ()
    assert HEADING not in markdown.render(plain)["report.md"].decode()
    assert HEADING not in html.render(plain)["report.html"].decode()
    assert [row["free_kib_max"] for row in rows_of(plain, "host.csv")] == ["2900000.0"]


def test_an_application_that_is_not_ours_is_one_too(application: Analysis) -> None:
    remote = seeing(application, host=application.tables[0].rows[0].seen["host"])
    assert observed_tables(remote, remote.tables[0]) == ()
    named = remote.model_copy(update={"environment": {"subjects": {"app": {"ours": False}}}})
    assert [table.title.partition(" (")[0] for table in observed_tables(named, named.tables[0])] == ["The machine"]


def test_markdown_has_a_section_of_whole_tables(application: Analysis) -> None:
    text = markdown.render(application)["report.md"].decode()
    section = text.partition(f"## {HEADING}\n")[2].partition("\n## ")[0]
    assert "### The home feed, by client library" in section
    assert f"| condition | {' | '.join(VMSTAT)} |" in section
    lines = section.split("\n")
    for above, line in pairwise(lines):
        if above.startswith("|") and line.startswith("|"):
            assert line.count("|") == above.count("|")


def test_the_page_folds_it_away(application: Analysis) -> None:
    text = html.render(application)["report.html"].decode()
    assert text.count('<details class="observed">') == 2
    assert '<abbr title="Context switches a second.">cs</abbr>' in text


def test_csv_has_a_line_a_condition_and_one_a_part_and_metric(application: Analysis) -> None:
    hosts = rows_of(application, "host.csv")
    assert len(hosts) == sum(len(table.rows) for table in application.tables)
    assert list(hosts[0])[:6] == [
        "table", "condition", "factor_store", "factor_users", "factor_replicas", "factor_client",
    ]  # fmt: skip
    assert (hosts[0]["bo_kib_per_s_avg"], hosts[0]["bo_kib_per_s_max"], hosts[0]["us_percent_max"]) == (
        "3300.0", "7904.0", "74.0",
    )  # fmt: skip
    parts = rows_of(application, "parts.csv")
    assert list(parts[0])[-4:] == ["part", "metric", "avg", "max"]
    [hits] = [row for row in parts if row["metric"] == "buffer_pool_hits" and row["factor_client"] == "jedis-8"]
    assert (hits["part"], hits["avg"]) == ("mariadb", "99.98")
    assert not any(row["part"] == "host" for row in parts)


def test_a_column_that_a_system_does_not_tell_is_empty(application: Analysis) -> None:
    observed = {"host": {"r": AvgMax(avg=1, max=2)}, "mariadb": application.tables[0].rows[0].seen["mariadb"]}
    some = seeing(application, **observed)
    assert [column.head for column in tables(some)["The machine"].columns[1:]] == ["r"]
    [row] = rows_of(some, "host.csv")
    assert (row["r_max"], row["wa_percent_max"]) == ("2.0", "")


def test_without_monitors_there_are_no_such_files(analysis: Analysis) -> None:
    assert set(csv_report.render(analysis)) == {"tables.csv", "comparisons.csv"}
