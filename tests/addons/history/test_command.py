"""`loadstone history` as it is typed, on folders of runs."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.frozen_runs import unpacked
from tests.parser import parser

from loadstone.judge.analysis.analyse import analyse
from loadstone.report.json_report import render
from loadstone.safety.errors import UserError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of one experiment."""
    place = tmp_path_factory.mktemp("history")
    run = unpacked("redis-rate", place)
    (run / "analysis.json").write_bytes(render(analyse(run))["analysis.json"])
    for number in range(3):
        began = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)
        target = place / "runs" / f"{began:%Y%m%dT%H%M%SZ}-redis"
        for path in run.rglob("*"):
            if path.is_file():
                (target / path.relative_to(run)).parent.mkdir(parents=True, exist_ok=True)
                os.link(path, target / path.relative_to(run))
    return place / "runs"


def typed(folder: Path, *words: str) -> None:
    parser()(["history", *words, "--runs", str(folder)], standalone_mode=False)


def test_a_history_is_shown_drawn_and_written(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed(folder, "redis", "--json")
    first = json.loads(capsys.readouterr().out)["figures"][0]["over"]["label"]
    typed(folder, "redis", "--condition", first, "--svg", str(tmp_path / "a.svg"), "--csv", str(tmp_path / "a.csv"))
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "3 runs of redis"
    assert [line.split()[0] for line in shown if line.lstrip()[:1].isdigit()][1:] == ["1", "2", "3"]
    assert shown[-1].startswith("Too few runs to look for a change: 8 of one machine")
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<svg")
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 4


def test_a_gate_s_figure_is_asked_for_by_its_name_and_rows_name_the_head(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = unpacked("gate-twin", tmp_path)
    (run / "analysis.json").write_bytes(render(analyse(run))["analysis.json"])
    run.rename(tmp_path / "20260101T000000Z-gate")
    typed(tmp_path, "gate", "--metric", "cpu")
    _heading, figure, _empty, heads, row = capsys.readouterr().out.splitlines()[:5]
    assert figure == "redis: cpu: CPU per request, head/base"
    assert heads.split()[:5] == ["no.", "began", "(UTC)", "line", "head"]
    assert "  A     redis,hz=11  0.994 [" in row


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["reds"], "history 'reds': no run in .* is of it; did you mean 'redis'"),
        (["redis", "--condition", "nowhere"], "--condition nowhere: 0 have these words; there are: "),
        (["redis", "--metric", "cpu_ns.mysql"], "--metric cpu_ns.mysql: no run has it; there are: .*goodput_per_s"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(folder: Path, words: list[str], line: str) -> None:
    with pytest.raises(UserError, match=line) as raised:
        typed(folder, *words)
    assert "\n" not in str(raised.value)


def test_runs_that_cannot_be_read_are_not_said_to_have_no_figure_yet(tmp_path: Path) -> None:
    run = unpacked("redis-rate", tmp_path)
    (run / "analysis.json").write_bytes(render(analyse(run))["analysis.json"])
    (run / "plan.json").write_text("{")
    run.rename(tmp_path / "20260101T000000Z-redis")
    with pytest.raises(UserError, match=r"none of its runs in .* can be read; the newest, 20260101T000000Z-redis: "):
        typed(tmp_path, "redis")
