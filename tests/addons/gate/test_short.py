"""What a gate prints that was typed for one figure: few lines, as other commands do."""

from pathlib import Path

import pytest
from tests.frozen_runs import unpacked
from tests.report.terminal import test_short

from loadstone.judge.analysis.analyse import analyse
from loadstone.judge.analysis.analysis import Analysis


@pytest.fixture
def measured(tmp_path: Path) -> Analysis:
    return analyse(unpacked("gate-rate", tmp_path))


@pytest.mark.parametrize("terminal", [True, False])
def test_it_has_few_lines_beside_rows_and_comparisons(measured: Analysis, *, terminal: bool) -> None:
    test_short.test_it_has_few_lines_beside_rows_and_comparisons(measured, terminal=terminal)


def test_a_pipe_takes_all_rows(measured: Analysis) -> None:
    test_short.test_a_pipe_takes_all_rows(measured)
