"""The lines of `-q` and `--csv`: they say of a latency what the table says of it."""

import csv
import io
import re
from pathlib import Path

import pytest
from tests.frozen_runs import unpacked

from loadstone.cli.result_lines import csv_text, quiet_lines
from loadstone.judge.analysis.analyse import analyse
from loadstone.judge.analysis.analysis import Analysis, own_ns, printed_ns


def cells(analysis: Analysis) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_text(analysis))))


def test_what_the_generator_may_have_added_stands_behind_a_latency(tmp_path: Path) -> None:
    analysis = analyse(unpacked("redis-rate", tmp_path))
    bounded = 0
    for row, line, cell in zip(analysis.tables[0].rows, quiet_lines(analysis), cells(analysis), strict=False):
        for quantile in ("p50", "p99"):
            at_most, ours_ns = printed_ns(row, quantile), own_ns(row, quantile)
            if at_most is None or ours_ns is None:
                continue
            ours_ms = ours_ns / 1e6
            ends = [cell[f"{quantile}_latency{end}_ms"] for end in ("_low", "_high")]
            assert cell[f"{quantile}_latency_ms"] == f"{at_most / 1e6:.3f}"
            assert not any(ends) or f" [{', '.join(ends)}]" in line, "both print the same ends"
            assert cell[f"{quantile}_latency_ours_ms"] == f"{ours_ms:.3f}"
            said = f" msec (≤ {ours_ms:.3f} msec generator)" in line.partition(f"{quantile}=")[2].partition(", p")[0]
            assert said == (ours_ms > 0.05 * at_most / 1e6), line
            bounded += said
    assert bounded


@pytest.mark.parametrize("name", ["json-documents", "caches"])
def test_latency_at_a_rate_stands_behind_that_at_full_speed(name: str, tmp_path: Path) -> None:
    analysis = analyse(unpacked(name, tmp_path))
    rows = [row for table in analysis.tables for row in table.rows]
    measured = {row.label for row in rows if row.at_rate is not None and row.at_rate.response_ns is not None}
    assert measured
    lines = {row.label: line for row, line in zip(rows, quiet_lines(analysis), strict=False)}
    for row, cell in zip(rows, cells(analysis), strict=True):
        shown = re.search(r", at \d+ per second: p50=(\d+\.\d{3}) ", lines[row.label])
        assert (shown is not None) == (row.label in measured), lines[row.label]
        if shown is not None:
            assert cell["at_rate_p50_latency_ms"] == shown[1]
            assert cell["at_rate_verdict"] in ("valid", "suspect", "invalid")


def test_what_a_request_costs_stands_in_both(tmp_path: Path) -> None:
    analysis = analyse(unpacked("pipeline", tmp_path))
    rows = [row for table in analysis.tables for row in table.rows]
    lines = quiet_lines(analysis)
    for row, line, cell in zip(rows, lines, cells(analysis), strict=False):
        cost_us = row.costs["redis"].ns / 1e3
        assert f", cpu={cost_us:.2f} usec" in line
        assert float(cell["cpu_low_us"]) < float(cell["cpu_us"]) < float(cell["cpu_high_us"])
        assert cell["cpu_us"] == f"{cost_us:.3f}"
    (cheaper,) = [line for line in lines if " CPU per request" in line]
    assert cheaper.startswith("pipeline 16 against pipeline 1: pipeline 16 uses 0.112 times [")
