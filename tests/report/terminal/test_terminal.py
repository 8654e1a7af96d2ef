import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report.figure_format import sentence
from loadstone.report.terminal import outcome as terminal
from loadstone.report.terminal.tables import ROWS_KEPT
from loadstone.report.verdicts import verdict_text
from loadstone.text.message import Message, message, verbatim


def printed(analysis: Analysis, width: int, report: Path | None = None) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, color_system=None)
    terminal.show(analysis, report, console, verbose=True)
    return out.getvalue()


@pytest.mark.parametrize("width", [120, 100, 80, 50])
def test_no_line_is_broken_or_too_long(judged: Analysis, width: int) -> None:
    lines = printed(judged, width).splitlines()
    assert max(cell_len(line) for line in lines) <= width
    rows = [line for line in lines if re.match(r"[✓!✕–] (set|get|update), ", line)]
    assert len(rows) == 54 + 27 + 2


def test_the_whole_table_fits_120_columns(analysis: Analysis) -> None:
    text = printed(analysis, 120)
    header = next(line for line in text.splitlines() if line.strip().startswith("condition"))
    assert header.split() == [
        "condition", "operations", "elapsed", "RPS", "published", "min", "max", "avg", "P50", "P95", "P99", "P99.9",
    ]  # fmt: skip


def test_a_narrow_terminal_keeps_what_says_most(analysis: Analysis) -> None:
    header = next(line for line in printed(analysis, 50).splitlines() if line.strip().startswith("condition"))
    assert {"RPS", "P50", "P99"} <= set(header.split())
    assert "elapsed" not in header


def test_it_opens_with_the_question_and_the_answer(analysis: Analysis) -> None:
    text = printed(analysis, 200, Path("runs/x/report.html"))
    assert text.split("\n")[1:3] == [analysis.question, sentence(analysis.answer)]
    assert "78 valid, 1 suspect, 2 invalid and 2 not run of 83 trials; no comparison: one block; quick" in " ".join(
        text.split()
    )
    assert text.endswith("Report: runs/x/report.html\n")


def test_checks_that_failed_are_grouped(build: Callable[..., Analysis]) -> None:
    lines = printed(build(all_invalid=True), 200).splitlines()
    failed = [line.strip() for line in lines if line.strip().startswith("✕ gain")]
    assert failed == [
        "✕ gain: 83 invalid; worst 93.4 % (limit 10 %) in b01-000. "
        "The generator must leave the server little to gain, or it measures itself."
    ]


def test_an_empty_run_says_so(empty_analysis: Analysis) -> None:
    text = printed(empty_analysis, 120)
    assert "0 valid and 83 not run of 83 trials" in text
    assert "Nothing was measured." in text
    assert "– set, 10 B, 1 worker" in text


def test_hostile_texts_neither_repaint_nor_style(analysis: Analysis) -> None:
    text = printed(analysis.model_copy(update={"answer": verbatim("[red]x[/red]\x1b[2J\ry")}), 120)
    assert "[red]x[/red] [2J y" in text
    assert "\x1b" not in text


def test_nothing_goes_to_stdout(analysis: Analysis, capfd: pytest.CaptureFixture[str]) -> None:
    terminal.show(analysis)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert analysis.question in captured.err


def test_verdicts_come_first_a_line_a_pair(judged: Analysis) -> None:
    lines = [line.rstrip() for line in printed(judged, 160).splitlines()]
    assert lines.index(judged.families[0].question) < lines.index("By document size, one worker")
    assert sentence(judged.families[0].answer) in lines
    for family in judged.families:
        for comparison in family.comparisons:
            [line] = [line for line in lines if line.endswith(verdict_text(comparison.primary))]
            assert comparison.place in line
    warning = "Which one ran first in its block mattered: the order shifts the ratio by 4 %."
    assert f"! lettuce against jedis, 16 workers: {warning}" in lines


def left_out(block: int) -> Message:
    trials = [message("trial_invalid", trial=f"storage-b0{block}-001", checks=["swap"])]
    why = message("block_trials_invalid", trials=trials)
    return message(
        "blocks_left_out", left_out=1, of=block + 7, blocks=[message("block_left_out", block=block, why=why)]
    )


def test_warnings_that_say_the_same_are_said_once(judged: Analysis) -> None:
    family = judged.families[0]
    pairs = [
        one.model_copy(update={"warnings": [left_out(number)]}) for number, one in enumerate(family.comparisons, 1)
    ]
    text = printed(
        judged.model_copy(update={"families": [family.model_copy(update={"comparisons": pairs})], "tables": []}), 160
    )
    assert text.count("blocks left out") == 1
    first = "string against json, 1 kB, 8 workers: 1 of 8 blocks left out, by the checks of their trials: "
    assert f"! 5 of 5 pairs, for example {first}" in text


def test_where_there_is_no_room_both_are_broken_beside_each_other(judged: Analysis) -> None:
    lines = printed(judged, 70).splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("string against json, 1 kB, 8"))
    begin = lines[place].index("▲")
    pair, said = (
        " ".join(line[part].strip() for line in lines[place : place + 2]) for part in (slice(begin), slice(begin, None))
    )
    assert (pair, said) == ("string against json, 1 kB, 8 workers", "▲ string FASTER by 13 % [11, 17], materially")


def test_a_long_table_is_shortened_and_says_where_the_rest_is(judged: Analysis) -> None:
    table = judged.tables[1]
    rows = [row.model_copy(update={"label": f"{row.label} {lap}"}) for lap in (1, 2) for row in table.rows]
    text = printed(judged.model_copy(update={"tables": [table.model_copy(update={"rows": rows})]}), 120)
    shown = [line for line in text.splitlines() if re.match(r"[✓!✕–] (set|get|update), ", line)]
    assert len(shown) == ROWS_KEPT
    assert f"… {len(rows) - len(shown)} more rows in the report" in text
    assert sum("set, " in line for line in shown) == sum("update, " in line for line in shown)


def test_an_interval_stands_beside_its_rate(judged: Analysis) -> None:
    row = judged.tables[0].rows[0]
    line = next(line for line in printed(judged, 120).splitlines() if row.label in line)
    assert re.search(r" 17,602 +\[17,250, 18,130\] ", line)


def test_it_ends_with_the_time_used_and_the_report(judged: Analysis) -> None:
    text = printed(judged, 120, Path("runs/x/report.html"))
    assert text.endswith("Took 12 min 3 s of a budget of 45 min.\nReport: runs/x/report.html\n")
