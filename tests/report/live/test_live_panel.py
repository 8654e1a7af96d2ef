"""The panel that shows the load while a run goes on: on a real (pseudo) terminal, and its parts."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.text import Text
from tests.fakes import latencies

from loadstone.drivers.outcome import Interval, IntervalOperation
from loadstone.monitors.monitor import Sample
from loadstone.report.live.live_panel import INTERVALS, LiveFigures, LivePanel, sparkline


def figures(tps: float = 1000, *, phase: str = "measure", errors: int = 0) -> LiveFigures:
    return LiveFigures(phase, tps, 250_000, 1_200_000, errors, 0.62)


def plain(lines: list[Text]) -> list[str]:
    return [line.plain.rstrip() for line in lines]


def interval(phase: str, **operations: tuple[int, int, int]) -> Interval:
    """Two seconds: of each operation those that were right, their response time in ns, and those that failed."""
    made = {}
    for name, (ok, each_ns, failed) in operations.items():
        summary, histogram = latencies(ok, each_ns)
        made[name] = IntervalOperation(
            offered=ok + failed, sent=ok + failed, ok=ok, errors={"MOVED": failed - 1} if failed else {},
            timeouts=1 if failed else 0, dropped=0, response_ns=summary,
            response_histogram=histogram, service_histogram=histogram,
        )  # fmt: skip
    return Interval.model_validate(
        {
            "index": 0, "phase": phase, "start_s": 0, "duration_s": 2, "start_unix_ns": 0, "operations": made,
            "bytes_sent": 0, "bytes_received": 0, "connections": 1, "users": 1, "backlog": 0, "cpu_s": [0.9, 0.3],
        }
    )  # fmt: skip


def test_an_interval_is_shown_by_all_its_operations_and_a_drain_is_not() -> None:
    shown = LiveFigures.of(interval("measure", get=(100, 1000, 0), set=(20, 3000, 3)))
    assert shown is not None
    assert (shown.tps, shown.errors, shown.generator_cpu) == (60, 3, 0.6)
    assert shown.p50_ns == pytest.approx(3000, rel=0.01)
    assert (shown.ok, shown.duration_s, dict(shown.errors_by_kind)) == (120, 2, {"timeout": 1, "MOVED": 2})
    assert shown.mean_ns == pytest.approx((100 * 1000 + 20 * 3000) / 120, rel=0.01)
    assert LiveFigures.of(interval("drain", get=(1, 1000, 0))) is None


def test_a_sparkline_begins_at_zero() -> None:
    assert sparkline([0, 50, 100]) == "▁▅█"
    assert sparkline([80, 100]) == "▇█"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""


def test_one_condition_shows_its_latency_errors_cpu_and_how_it_went() -> None:
    panel = LivePanel()
    assert panel.lines("get", 100) == []
    panel.add("get", figures(500, phase="warm_up"))
    for tps in (500, 1000):
        panel.add("get", figures(tps, errors=1))
    panel.parts.add(
        [Sample(0, "redis", "cpu_share", 0.97), Sample(0, "generator", "cpu_share", 9), Sample(0, "redis", "id", 3)]
    )
    assert plain(panel.lines("get", 100)) == [
        "P50 250 µs, 2 errors, CPU: generator 62 %, redis 97 %",
        "▅█ 500 to 1,000 TPS",
    ]


def test_conditions_that_take_turns_have_a_line_each() -> None:
    panel = LivePanel()
    panel.add("get, 1 kB", figures(2000))
    panel.add("set, a name that is longer than there is room for", figures(1000))
    shown = plain(panel.lines("get, 1 kB", 80))
    assert re.search(r"^get, 1 kB .*2,000 TPS   P99 1.20 ms", shown[1])
    assert re.search(r"^set, a name .*….*1,000 TPS", shown[2])
    assert max(map(len, shown)) <= 80
    panel.begin()
    assert panel.lines("get, 1 kB", 80) == []
    panel.add("get, 1 kB", figures(1000))
    assert plain(panel.lines("get, 1 kB", 80))[1] == "█▅ 1,000 to 2,000 TPS", "what it did before stays known"


@pytest.mark.parametrize("width", [1, 10, 40])
def test_a_narrow_terminal_cuts_it(width: int) -> None:
    panel = LivePanel()
    for number in range(2 * INTERVALS):
        panel.add("get", figures(1000 + number))
        panel.add("set", figures(1000 + number))
    assert max(line.cell_len for line in panel.lines("get", width)) <= width


def test_a_part_cannot_repaint_the_terminal() -> None:
    panel = LivePanel()
    panel.parts.add([Sample(0, "a\x1b[2J\x07b", "cpu_share", 1)])
    panel.add("get", figures())
    assert not {"\x1b", "\x07"} & set(panel.figures_text("get"))


def on_pseudo_terminal(arguments: list[str], folder: Path) -> tuple[int, str, str]:
    """Run the command with stderr on a terminal of 100 columns and stdout in a file: status, stdout, what was shown."""
    ours, theirs = pty.openpty()
    out = folder / "stdout"
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    with out.open("wb") as stdout:
        process = subprocess.Popen(
            [sys.executable, "-m", "loadstone.cli.main", *arguments],
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=theirs, cwd=folder, env=environment,
        )  # fmt: skip
    os.close(theirs)
    shown, deadline = b"", time.monotonic() + 120
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 1)[0]:
            try:
                shown += os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
        elif process.poll() is not None:
            break
    os.close(ours)
    return process.wait(30), out.read_text(), shown.decode(errors="replace")


def test_on_a_terminal_the_panel_is_shown_and_stdout_stays_clean(tmp_path: Path) -> None:
    options = ["redis", "-c", "4", "-t", "get", "--test-time", "2", "--repeat", "1", "--csv"]
    status, out, painted = on_pseudo_terminal(options, tmp_path)
    assert status in (0, 3), painted
    assert "\x1b" not in out
    assert len(out.splitlines()) == 2
    shown = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", painted)
    assert re.search(r"P50 [\d.]+ .s, 0 errors, CPU: generator \d+ %", shown), shown
    assert re.search(r"[▁▂▃▄▅▆▇█]+ [\d,.]+ to [\d,.]+ TPS", shown), shown
    assert "\x1b[?25h" in painted, "the cursor is given back"
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_what_a_part_used_before_it_was_held_or_gone_is_not_its_cpu_now() -> None:
    panel = LivePanel()
    panel.add("get", figures())
    panel.parts.add([Sample(1, "spring", "cpu_share", 0.95), Sample(1, "old", "cpu_share", 0.9)])
    panel.parts.add([Sample(2, "spring", "cpu_share", 0.95), Sample(2, "spring", "stopped", 1.0)])
    assert "spring paused" in panel.figures_text("get")
    panel.parts.add([Sample(6, "spring", "cpu_share", 0.5), Sample(6, "spring", "stopped", 0.0)])
    assert "spring 50 %" in panel.figures_text("get")
    assert "old" not in panel.figures_text("get"), "its last figure is of 5 s ago"
