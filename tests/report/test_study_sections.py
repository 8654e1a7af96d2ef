"""Lost writes and the scale of a study, in every format."""

import io
import re
from collections.abc import Callable

import pytest
from rich.cells import cell_len
from rich.console import Console

from loadstone.judge.analysis.analysis import Analysis
from loadstone.judge.analysis.crashes import CrashRow, CrashTable
from loadstone.report import csv_report, summary
from loadstone.report import figure_format as fmt
from loadstone.report import markdown_report as markdown
from loadstone.report.document import Paragraph, SectionTable
from loadstone.report.html import page as html
from loadstone.report.json_report import render as json_report
from loadstone.report.sections.crashes import _COLUMNS, crash_section
from loadstone.report.sections.of_analysis import document_of
from loadstone.report.terminal import outcome as terminal
from loadstone.report.written import cell as cell_text
from loadstone.report.written import words
from loadstone.text.message import verbatim


def on_terminal(analysis: Analysis, width: int = 120) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, color_system=None)
    terminal.show(analysis, None, console, verbose=True)
    return out.getvalue()


def in_markdown(analysis: Analysis) -> str:
    return markdown.render(analysis)["report.md"].decode()


def on_the_page(analysis: Analysis) -> str:
    """The page's words, without its tags."""
    text = html.render(analysis)["report.html"].decode()
    text = text.partition("<body")[2].partition('<script type="application')[0]
    return " ".join(re.sub(r"<[^>]+>", " ", text).replace("&#39;", "'").split())


FORMATS = (on_terminal, in_markdown, on_the_page)


def crash(**changes: object) -> CrashRow:
    reported = {"times": 3, "acknowledged": 1000, "writes": 1000, "looked_up": True, "present": 1000, "lost_min": 0,
            "lost_max": 0, "lost_worst": 0, "restart_s": 0.5}  # fmt: skip
    return CrashRow.model_validate({"condition": {}, "label": "x", **reported, **changes})


@pytest.mark.parametrize("shown", FORMATS)
def test_every_report_says_by_how_much_it_was_scaled(application: Analysis, shown: Callable[[Analysis], str]) -> None:
    said = "rows, and users where the experiment scales them, are 10 % of the full experiment."
    text = shown(application)
    assert text.count("Scaled down") == text.count(said) == 1
    assert text.index(fmt.sentence(application.answer)) < text.index(said) < text.index("78 valid")
    assert said not in shown(application.model_copy(update={"scale": 1.0}))


def test_the_scale_is_in_csv_and_json_too(application: Analysis) -> None:
    [content] = json_report(application).values()
    assert b'"scale": 0.1' in content
    assert csv_report.render(application)["tables.csv"].splitlines()[0].endswith(b",scale")
    assert summary.scaled(application.model_copy(update={"scale": 0.025})).startswith(
        "Scaled down: rows, and users where the experiment scales them, are 2.5 %"
    )


@pytest.mark.parametrize("shown", FORMATS)
def test_every_report_tells_what_was_lost_and_what_was_not_tried(
    application: Analysis, shown: Callable[[Analysis], str]
) -> None:
    text = " ".join(shown(application).split())
    (crashes,) = (one for one in document_of(application).sections if one.name == "crashes")
    reading = crashes.blocks[-1]
    assert isinstance(reading, Paragraph)
    heading = words(crashes.heading)
    section = text[text.index(heading) :]
    assert "AOF everysec" in section
    assert "4,120 of 30,412 (13.5 %)" in section
    assert "0 to 12 of 30,412 (bounds)" in section
    assert "0 of 30,412" in section
    assert "process killed, not power lost" in section
    assert "try 2: it did not start again" in section
    assert words(reading.text) in section
    assert heading not in shown(application.model_copy(update={"crashes": []}))


def cells(row: CrashRow) -> list[str]:
    """What stands in the columns but the first, and as many as there are."""
    table, _ = crash_section([CrashTable(name="x", title="x", note="", rows=[row])]).blocks
    assert isinstance(table, SectionTable)
    (line,) = table.lines
    assert len(line.cells) == len(table.columns) - 1
    return list(map(cell_text, line.cells))


def test_figures_of_a_crash() -> None:
    assert cells(crash(unacknowledged_present=7)) == ["3", "0 of 1,000", "1,000", "7", "0", "0.50 s"]
    assert cells(crash(lost_min=20, lost_max=20))[1] == "20 of 1,000 (2 %)"
    assert cells(crash(lost_min=0, lost_max=5))[1] == "0 to 5 of 1,000 (bounds)"
    assert cells(crash(writes=5000))[1] == "0 of 1,000 keys"
    counted = crash(looked_up=False, present=0)
    assert cells(counted) == ["3", "0 of 1,000 (bounds)", "—", "—", "0", "0.50 s"]


@pytest.mark.parametrize("shown", FORMATS)
def test_a_broken_promise_is_an_alarm(application: Analysis, shown: Callable[[Analysis], str]) -> None:
    assert "ALARM" not in shown(application)
    (table,) = application.crashes
    lost = {"lost_min": 1, "lost_max": 1, "lost_worst": 1, "promised": 0, "broken": True, "lost_keys": ["k:7"]}
    rows = [row.model_copy(update=lost) if row.label == "AOF always" else row for row in table.rows]
    broken = application.model_copy(update={"crashes": [table.model_copy(update={"rows": rows})]})
    said = "ALARM: AOF always promises to lose none of the acknowledged writes, and lost 1 of 30,412 (0.00329 %)."
    assert f"{said} First: k:7." in " ".join(shown(broken).split())


def test_tries_that_reported_nothing_have_no_figure() -> None:
    assert cells(crash(acknowledged=0, restart_s=0)) == ["3", "—", "—", "—", "—", "—"]


@pytest.mark.parametrize("width", [120, 80, 50])
def test_no_line_on_a_terminal_is_too_long(application: Analysis, width: int) -> None:
    assert max(cell_len(line) for line in on_terminal(application, width).splitlines()) <= width


@pytest.mark.parametrize("width", [120, 80])
def test_on_a_terminal_no_two_rows_are_called_the_same(application: Analysis, width: int) -> None:
    lines = [line[: len("✓ ") + min(40, width // 3)] for line in on_terminal(application, width).splitlines()]
    whole = "\n".join(lines).partition("POST: ")[2].partition("The home feed")[0].partition("\n  ! ")[0]
    names = [" ".join(part.split()) for part in whole.split("✓ ")[1:]]
    assert len(names) == len(set(names)) == len(application.tables[0].rows)
    if width == 80:
        assert names == [row.label for row in application.tables[0].rows]


def test_a_terminal_points_to_the_report_for_the_machine(application: Analysis, analysis: Analysis) -> None:
    said = "vmstat's columns, and CPU, memory and connections of each part: in the report."
    assert said in on_terminal(application)
    assert said not in on_terminal(analysis)


def test_tps_and_what_is_right_of_it_have_their_names(application: Analysis, analysis: Analysis) -> None:
    trials = {"trials": analysis.trials[:3]}
    assert "| verdict | goodput | P99 |" in in_markdown(application.model_copy(update=trials))
    assert "| verdict | RPS | P99 |" in in_markdown(analysis)


def test_texts_of_applications_are_explained_where_there_is_one(application: Analysis, analysis: Analysis) -> None:
    for term in ("MTT", "millicores", "replica", "throttled", "r, b", "us, sy, id, wa, st"):
        assert f"- **{term}**: " in in_markdown(application)
    assert "- **millicores**" not in in_markdown(analysis)
    assert "In programs" not in on_the_page(analysis)


def test_hostile_texts_are_texts(application: Analysis) -> None:
    bad = "a|b <script>x</script>\n# h"
    table = application.crashes[0]
    row = table.rows[0].model_copy(update={"label": bad, "problems": [verbatim(bad)]})
    crashes = [table.model_copy(update={"rows": [row], "title": bad, "note": bad})]
    evil = application.model_copy(update={"crashes": crashes})
    text = in_markdown(evil)
    assert "<script" not in text
    assert "\n# h" not in text
    for line in text.split("\n"):
        if line.startswith("| a"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (4, len(_COLUMNS) + 1)
    assert "<script>x" not in html.render(evil)["report.html"].decode()
