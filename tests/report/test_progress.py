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


def test_elsewhere_than_on_a_terminal_it_prints_one_line_a_trial_of_a_table(clock: Clock) -> None:
    out = io.StringIO()
    with on(out, clock, terminal=False) as progress:
        progress.start()
        for n, verdict in enumerate(("valid", "invalid", "valid"), 1):
            progress.left(20 * (4 - n), False)
            progress.trial(f"b01-00{n}", f"set, {n} kB", f"trial {n} of 3")
            progress.live(18_432, 1_200_000, "measure")
            clock.now += 20
            progress.finished(verdict, ["generator CPU 93.4 %"] if verdict == "invalid" else [])
        progress.note("done\n")
    assert out.getvalue().splitlines() == [
        "✓ trial 1 of 3: set, 1 kB: valid, about 40 s left",
        "✕ trial 2 of 3: set, 2 kB: invalid. generator CPU 93.4 %, about 20 s left",
        "✓ trial 3 of 3: set, 3 kB: valid, about 0 s left",
        "done",
    ]


def test_elsewhere_it_prints_one_line_a_block_of_a_comparison(clock: Clock) -> None:
    out = io.StringIO()
    with on(out, clock, terminal=False) as progress:
        progress.start()
        progress.left(600, True)
        for block, verdicts in enumerate((("valid", "valid"), ("suspect", "valid"), ("invalid", "invalid")), 1):
            for verdict in verdicts:
                progress.trial("storage-b01-001", "json", f"storage: block {block}, look at 8")
                progress.finished(verdict, [f"{verdict} for a reason."] if verdict != "valid" else [], in_block=True)
            progress.block(f"storage: block {block}, look at 8")
    assert out.getvalue().splitlines() == [
        "✓ storage: block 1, look at 8: valid, at most 10 min left",
        "! storage: block 2, look at 8: 1 valid, 1 suspect. suspect for a reason., at most 10 min left",
        "✕ storage: block 3, look at 8: invalid. invalid for a reason. (And 1 more.), at most 10 min left",
    ]


@pytest.mark.parametrize("terminal", [True, False])
def test_a_look_says_what_became_of_the_comparison(clock: Clock, terminal: bool) -> None:
    out = io.StringIO()
    with on(out, clock, terminal=terminal) as progress:
        progress.look("storage", 8, "go on", ["UNDECIDED: 3 % [-1, 7]"])
        progress.look("pool", 12, "go on", ["UNDECIDED: a", "UNDECIDED: b"])
        progress.look("pool", 18, "decided", ["json FASTER by 12 % [9, 15]", "EQUIVALENT within 5 %"])
        progress.look("update", 5, "out of budget", ["UNDECIDED: c"])
        progress.look("warm-up", 8, "decided", ["INVALID: errors, measured 4 %, limit 1 %"])
    assert out.getvalue().splitlines() == [
        "storage, after 8 blocks: not decided yet, more blocks follow: UNDECIDED: 3 % [-1, 7]",
        "pool, after 12 blocks: not decided yet, more blocks follow",
        "pool, after 18 blocks: decided",
        "  json FASTER by 12 % [9, 15]",
        "  EQUIVALENT within 5 %",
        "update, after 5 blocks: not decided, and the budget is spent: UNDECIDED: c",
        "warm-up, after 8 blocks: ended: INVALID: errors, measured 4 %, limit 1 %",
    ]


def test_on_a_terminal_it_shows_what_happens_now(clock: Clock) -> None:
    out = io.StringIO()
    progress = on(out, clock, terminal=True)
    progress.start()
    progress.left(240, True)
    progress.decided(2, 5)
    progress.trial("storage-b03-002", "get, 1 kB, 8 workers", "storage: block 3, look at 8")
    assert "storage-b03-002: preparing" in out.getvalue()
    progress.live(18_432, 1_200_000, "measure")
    shown = out.getvalue()
    for words in (
        "storage: block 3, look at 8",
        "get, 1 kB, 8 workers",
        "measure",
        "18,432 TPS",
        "P99 1.20 ms",
        "at most 4 min left",
        "2 of 5 decided",
    ):
        assert words in shown
    progress.finished("valid", [], in_block=True)
    assert "1 valid" in out.getvalue()
    progress.finished("invalid", ["generator CPU 93.4 %"], in_block=True)
    assert "invalid. generator CPU 93.4 %" in out.getvalue()
    before = out.getvalue()
    progress.block("storage: block 3, look at 8")
    assert out.getvalue() == before  # each trial was told when it ended
    progress.stop()
    assert "\x1b[?25h" in out.getvalue()
    progress.stop()


def test_it_repaints_only_when_told(clock: Clock) -> None:
    out = io.StringIO()
    progress = on(out, clock, terminal=True)
    progress.start()
    progress.trial("b01-000", "set", "trial 1 of 2")
    assert progress._screen is not None
    assert not progress._screen.auto_refresh
    progress.stop()


def test_the_time_left_counts_down_from_when_it_was_told(clock: Clock) -> None:
    progress = on(io.StringIO(), clock, terminal=False)
    progress.start()
    progress.left(100, False)
    clock.now = 25
    assert progress.left_words() == "about 75 s left"
    progress.left(600, True)
    assert progress.left_words() == "at most 10 min left"
    clock.now = 5000
    assert progress.left_words() == "at most 0 s left"


def test_a_long_label_and_control_characters_do_no_harm(clock: Clock) -> None:
    out = io.StringIO()
    progress = on(out, clock, terminal=False)
    progress.start()
    progress.trial("t", "x" * 300 + "\x1b[2J[red]", "trial 1 of 1")
    progress.finished("valid", [])
    progress.look("\x1b[2J", 8, "decided", ["\x1b[2J[red]"])
    assert "\x1b" not in out.getvalue()
    assert "[2J[red]: valid" in out.getvalue()


def test_stop_without_start_is_allowed(clock: Clock) -> None:
    on(io.StringIO(), clock, terminal=True).stop()


def test_by_itself_it_writes_to_stderr_only(capfd: pytest.CaptureFixture[str]) -> None:
    with RunProgress() as progress:
        progress.start()
        progress.trial("t", "set", "trial 1 of 1")
        progress.finished("valid", [])
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "trial 1 of 1: set: valid" in captured.err


LONG = "write, Redis hashes by a repository, 1,000,000 posts, 6,000 vUsers, 2 replicas, AOF everysec"


@pytest.mark.parametrize("width", [70, 100, 200])
def test_long_names_never_hide_the_time_left_nor_the_figures(clock: Clock, width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None, highlight=False)
    with RunProgress(console, clock) as progress:
        progress.start()
        progress.left(600, True)
        progress.decided(1, 12)
        progress.trial("memory-vs-disk-write-b01-002", LONG, "block 12, look at 18, of the comparison memory-vs-disk")
        progress.live(3210, 123_456_789, "warm_up")
    shown = out.getvalue().rpartition("block 12")[2]
    for whole in ("at most 10 min left", "1 of 12 decided", "warm-up     3,210 TPS   P99  123 ms", "write, Redis"):
        assert whole in shown
    assert ("…" in shown) == (width < 200)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_note_is_said_whole_however_long(clock: Clock, terminal: bool) -> None:
    out = io.StringIO()
    with on(out, clock, terminal) as progress:
        progress.start()
        progress.trial("b01-001", LONG, "trial 1 of 3")
        said = f"warming up spring for 20 s by {LONG}, so that its JVM has compiled what it needs"
        progress.note(said)
    assert len(said) > 100
    assert said in out.getvalue().replace("\n", "")
