"""What a command that was typed for one figure prints: few lines beside those of the table."""

import io
import re

import pytest
from rich.console import Console
from tests.frozen_runs import unpacked

from loadstone.judge.analysis.analyse import analyse
from loadstone.judge.analysis.analysis import Analysis
from loadstone.report import verdicts
from loadstone.report.figure_quality import different_rows
from loadstone.report.terminal.short import ROWS_MAX, print_short

BESIDE_MAX = 8
"""Lines at 120 columns beside tables and comparisons: the answer, a doubt, how good it is."""
HEAD_MAX = 4
"""Lines of a table's head, its rule, and what stands between groups of rows."""


@pytest.fixture(scope="module", params=["redis-rate", "redis-against", "pipeline"])
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    return analyse(unpacked(request.param, tmp_path_factory.mktemp("runs")))


def printed(analysis: Analysis, *, terminal: bool) -> list[str]:
    out = io.StringIO()
    print_short(Console(file=out, width=120, highlight=False, color_system=None, force_terminal=terminal), analysis)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("terminal", [True, False])
def test_it_has_few_lines_beside_rows_and_comparisons(measured: Analysis, *, terminal: bool) -> None:
    rows, pairs = different_rows(measured), list(verdicts.all_comparisons(measured))
    lines = printed(measured, terminal=terminal)
    assert len(lines) <= BESIDE_MAX + HEAD_MAX + len(rows) + len(pairs)
    assert lines[0].strip(), "the answer comes first"
    assert "--verbose" in " ".join(lines[-2:])


def more_doubts(analysis: Analysis) -> tuple[str, int]:
    """What is printed, as one line, and how many doubts it leaves to `--verbose`."""
    text = " ".join(" ".join(printed(analysis, terminal=True)).split())
    return text, int(re.findall(r"(\d+) more doubts?, and all of it: --verbose", text)[0])


def test_one_doubt_is_printed_and_the_others_are_counted(measured: Analysis) -> None:
    """What is invalid is doubted before all else."""
    sound = next(check for check in measured.checks if not check.invalid and not check.suspect)
    broken = [sound.model_copy(update={"invalid": 1}), *(check for check in measured.checks if check is not sound)]
    before, left = more_doubts(measured)
    after, more = more_doubts(measured.model_copy(update={"checks": broken}))
    assert more == left + 1
    assert " 1 invalid" in after
    assert " 1 invalid" not in before


def test_a_pipe_takes_all_rows(measured: Analysis) -> None:
    table = next(one for one in measured.tables if one.rows)
    many = [table.rows[0].model_copy(update={"label": f"row {place}"}) for place in range(3 * ROWS_MAX)]
    grown = measured.model_copy(update={"tables": [table.model_copy(update={"rows": many})]})
    assert sum("row " in line for line in printed(grown, terminal=False)) >= 3 * ROWS_MAX
    cut = printed(grown, terminal=True)
    assert sum(line.split()[1:2] == ["row"] for line in cut) <= ROWS_MAX
    assert any("more rows in the report" in line for line in cut)
