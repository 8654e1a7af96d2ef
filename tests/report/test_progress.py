import io

import pytest
from rich.console import Console

from loadstone.report.progress import RunProgress


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def on(out: io.StringIO, clock: Clock, terminal: bool) -> RunProgress:
    console = Console(file=out, width=100, force_terminal=terminal, color_system=None, highlight=False)
    return RunProgress(console, clock)


def test_elsewhere_than_on_a_terminal_it_prints_one_line_a_trial(clock: Clock) -> None:
    out = io.StringIO()
    with on(out, clock, terminal=False) as progress:
        progress.start(3, 30)
        for n, verdict in enumerate(("valid", "invalid", "valid"), 1):
            progress.trial(f"b01-00{n}", f"set, {n} kB", n)
            progress.live(18_432, 1_200_000, "measure")
            clock.now += 20
            progress.finished(verdict, ["generator CPU 93.4 %"] if verdict == "invalid" else [])
        progress.note("done\n")
    assert out.getvalue().splitlines() == [
        "3 trials, about 30 s",
        "✓ trial 1 of 3: set, 1 kB: valid, about 40 s left",
        "✕ trial 2 of 3: set, 2 kB: invalid. generator CPU 93.4 %, about 20 s left",
        "✓ trial 3 of 3: set, 3 kB: valid, about 0 s left",
        "done",
    ]


def test_on_a_terminal_it_shows_what_happens_now(clock: Clock) -> None:
    out = io.StringIO()
    progress = on(out, clock, terminal=True)
    progress.start(54, 240)
    progress.trial("b01-007", "get, 1 kB, 8 workers", 7)
    assert "b01-007: preparing" in out.getvalue()
    progress.live(18_432, 1_200_000, "measure")
    shown = out.getvalue()
    for words in ("trial 7 of 54", "get, 1 kB, 8 workers", "measure", "18,432 TPS", "P99 1.20 ms", "4 min left"):
        assert words in shown
    progress.finished("valid", [])
    assert "1 valid" in out.getvalue()
    progress.finished("invalid", ["generator CPU 93.4 %"])
    assert "invalid. generator CPU 93.4 %" in out.getvalue()
    progress.stop()
    assert out.getvalue().endswith("\x1b[?25h") or "\x1b[?25h" in out.getvalue()
    progress.stop()


def test_it_repaints_only_when_told(clock: Clock) -> None:
    out = io.StringIO()
    progress = on(out, clock, terminal=True)
    progress.start(2, 10)
    progress.trial("b01-000", "set", 1)
    assert progress._screen is not None
    assert not progress._screen.auto_refresh
    progress.stop()


def test_time_left_comes_from_the_plan_then_from_the_trials(clock: Clock) -> None:
    progress = on(io.StringIO(), clock, terminal=False)
    progress.start(10, 100)
    progress.trial("a", "a", 1)
    clock.now = 5
    assert progress.left_s() == 95
    clock.now = 20
    progress.finished("valid", [])
    assert progress.left_s() == 9 * 20
    progress.trial("b", "b", 2)
    clock.now = 30
    assert progress.left_s() == 9 * 20 - 10
    clock.now = 1000
    assert progress.left_s() == 0


def test_a_resumed_run_counts_its_own_trials_for_the_time_left(clock: Clock) -> None:
    progress = on(io.StringIO(), clock, terminal=False)
    progress.start(10, 40)
    progress.trial("b01-006", "x", 7)
    clock.now = 10
    progress.finished("valid", [])
    assert progress.left_s() == 3 * 10


def test_a_long_label_and_control_characters_do_no_harm(clock: Clock) -> None:
    out = io.StringIO()
    progress = on(out, clock, terminal=False)
    progress.start(1, 1)
    progress.trial("t", "x" * 300 + "\x1b[2J[red]", 1)
    progress.finished("valid", [])
    assert "\x1b" not in out.getvalue()
    assert "[2J[red]: valid" in out.getvalue()


def test_stop_without_start_is_allowed(clock: Clock) -> None:
    on(io.StringIO(), clock, terminal=True).stop()


def test_by_itself_it_writes_to_stderr_only(capfd: pytest.CaptureFixture[str]) -> None:
    with RunProgress() as progress:
        progress.start(1, 1)
        progress.trial("t", "set", 1)
        progress.finished("valid", [])
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "trial 1 of 1: set: valid" in captured.err
