import io
import re

import pytest
from rich.console import Console
from tests.verdicts import refused_by, verdict

from loadstone.machine.start_context import LastingStep, Step
from loadstone.report.live.live_panel import LiveFigures
from loadstone.report.live.progress import RunProgress
from loadstone.text.message import Message, message, verbatim


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def on(
    out: io.StringIO, clock: Clock, terminal: bool, *, verbose: bool = False, quiet: bool = False, width: int = 100
) -> RunProgress:
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None, highlight=False)
    return RunProgress(console, clock, verbose=verbose, quiet=quiet)


FIGURES = "P99 1.20 ms, P50 600 µs, 0 errors, CPU: generator 62 %"


def in_second(tps: float, p99_ns: int | None, phase: str) -> LiveFigures:
    """What an interval showed: P50 is half of P99, and the generator takes .62 CPUs."""
    return LiveFigures(phase, tps, p99_ns and p99_ns // 2, p99_ns, generator_cpu=0.62)


def failed(percent: float) -> Message:
    return message("check.errors.failed", percent=percent, kinds={"timeout": int(10 * percent)})


def evicted(keys: int) -> Message:
    return message("check.evicted_keys.evicted", keys=keys)


def test_elsewhere_than_on_a_terminal_it_prints_a_line_now_and_then(clock: Clock) -> None:
    out = io.StringIO()
    with on(out, clock, terminal=False) as progress:
        progress.start()
        for n in range(1, 61):
            progress.left(60 - n, False)
            progress.decided(0, 2)
            progress.trial(f"b01-{n:03d}", f"set, {n} kB", f"trial {n} of 60")
            progress.live(in_second(100, None, "warm_up"))
            progress.live(in_second(18_432, 1_200_000, "measure"))
            clock.now += 1
            progress.finished("suspect" if n % 2 else "valid", [evicted(n)] if n % 2 else [])
    assert out.getvalue().splitlines() == [
        "trial 1 of 60; set, 1 kB: warm-up; 0 of 2 decided; about 59 s left",
        f"trial 16 of 60; set, 16 kB: 18,432 a second, {FIGURES}; 0 of 2 decided; about 44 s left",
        f"trial 31 of 60; set, 31 kB: 18,432 a second, {FIGURES}; 0 of 2 decided; about 29 s left",
        f"trial 46 of 60; set, 46 kB: 18,432 a second, {FIGURES}; 0 of 2 decided; about 14 s left",
    ]


def test_a_long_run_has_no_long_log(clock: Clock) -> None:
    out = io.StringIO()
    with on(out, clock, terminal=False) as progress:
        progress.start()
        for second in range(45 * 60):
            clock.now = second
            progress.trial("b01-001", "set", "trial 1 of 2")
            progress.live(in_second(18_432, 1_200_000, "measure"))
    assert len(out.getvalue().splitlines()) <= 10 + 45


@pytest.mark.parametrize("terminal", [True, False])
def test_why_a_trial_gives_no_figure_is_remarked_once(clock: Clock, terminal: bool) -> None:
    out = io.StringIO()
    with on(out, clock, terminal) as progress:
        progress.start()
        for n in range(1, 9):
            progress.trial(f"b01-00{n}", f"set, {n} kB", f"trial {n} of 8")
            progress.finished(
                "invalid",
                [failed(n + 0.5), evicted(n)],
                in_block=n > 4,
            )
            progress.finished("suspect", [evicted(n)])
        progress.block("storage: block 1, look at 8")
        progress.trial("b01-009", "get", "trial 9 of 9")
        progress.finished("invalid", [verbatim("The server stopped answering.")])
    kept = [line.lstrip("\r") for line in out.getvalue().splitlines() if "✕" in line]
    assert [line[line.index("✕") :].rstrip() for line in kept] == [
        "✕ set, 1 kB: 1.5 % of the operations failed: 15 timeout.",
        "✕ get: The server stopped answering.",
    ]
    assert "evicted" not in out.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_a_verdict_stays_as_it_falls_and_is_printed_once(clock: Clock, terminal: bool) -> None:
    out = io.StringIO()
    names = ["string against json, 1 kB", "hash against json, 1 kB"]
    undecided = verdict("undecided", 4, -1, 7)
    with on(out, clock, terminal) as progress:
        progress.look("storage", 8, "go on", [verdict("undecided", 3, -1, 7), undecided], names)
        progress.look("storage", 12, "go on", [verdict("faster", 12, 9, 15, quick=True), undecided], names)
        progress.look(
            "storage",
            18,
            "out of budget",
            [verdict("faster", 11, 9, 15, quick=True), verdict("undecided", 2, -1, 6)],
            names,
        )
    assert out.getvalue().splitlines() == [
        "string against json, 1 kB: string FASTER by 12 % [9, 15] (after 12 blocks)",
        "hash against json, 1 kB: UNDECIDED: +2 % [-1, 6] (after 18 blocks)",
    ]


def test_a_verdict_that_turns_is_printed_again(clock: Clock) -> None:
    out = io.StringIO()
    with on(out, clock, terminal=False) as progress:
        progress.look("storage", 8, "go on", [verdict("equivalent", 0, -1, 1), verdict("undecided")], ["x", "y"])
        progress.look("storage", 12, "decided", [verdict("faster", 6, 3, 9), refused_by("errors")], ["x", "y"])
    assert out.getvalue().splitlines() == [
        "x: EQUIVALENT within 5 %: 0.0 % [-1.0, 1.0] (after 8 blocks)",
        "x: string FASTER by 6 % [3, 9] (after 12 blocks)",
        "y: INVALID: errors, measured 4 %, limit 1 % (after 12 blocks)",
    ]


def test_where_a_cost_alone_answers_its_sentence_is_printed(clock: Clock) -> None:
    out = io.StringIO()
    cost = verdict("faster", -20, -25, -15, metric="cpu_ns.redis", larger_is_faster=False, winner="b")
    with on(out, clock, terminal=False) as progress:
        progress.look("storage", 72, "decided", [verdict("undecided", 3, -9, 17)] * 2, ["x", "y"], [cost, None])
    first, second = out.getvalue().splitlines()
    assert first.startswith("x: string uses 20 % [15, 25] less redis CPU per request")
    assert second.startswith("y: UNDECIDED")


def test_rounds_are_named_once_and_the_last_step_has_no_time_left(clock: Clock) -> None:
    out = io.StringIO()
    with on(out, clock, terminal=False) as progress:
        progress.start()
        progress.left(80, True)
        progress.decided(1, 2)
        progress.trial("storage", "storage", "storage: rounds 1 to 32")
        progress.live(in_second(31_155, 3_890_000, "measure"))
        progress.look("storage", 32, "decided", [verdict("faster", 43, 31, 58)], ["string against json"])
        clock.now += 60
        progress.last_step("writing the report")
    assert out.getvalue().splitlines() == [
        "storage: rounds 1 to 32; 31,155 a second, P99 3.89 ms, P50 1.95 ms, 0 errors, CPU: generator 62 %;"
        " 1 of 2 decided; at most 80 s left",
        "string against json: string FASTER by 43 % [31, 58] (after 32 blocks)",
        "writing the report",
    ]


def test_what_is_done_outside_of_trials_goes_by_and_a_remark_stays(clock: Clock) -> None:
    shown = {}
    for terminal in (True, False):
        out = io.StringIO()
        with on(out, clock, terminal) as progress:
            progress.step(Step("building spring: gradle, 5 s", about="building spring"))
            progress.step(Step("building spring: gradle, 10 s", about="building spring"))
            progress.step(LastingStep("redis: limits are unavailable: no control groups"))
            progress.start()
            progress.trial("t", "set", "trial 1 of 1")
            progress.step("starting redis again")
        shown[terminal] = out.getvalue()
    assert shown[False].splitlines() == [
        "building spring: gradle, 5 s",
        "building spring: gradle, 10 s",
        "redis: limits are unavailable: no control groups",
    ]
    assert "starting redis again" in shown[True]
    lasting = re.sub(r".*\x1b\[2K", "", shown[True])
    assert "redis: limits are unavailable: no control groups\n" in shown[True]
    assert "building" not in lasting


def test_steps_and_remarks_about_the_same_are_said_once(clock: Clock) -> None:
    out = io.StringIO()
    with on(out, clock, terminal=False) as progress:
        progress.start()
        progress.trial("t", "set", "trial 1 of 1")
        clock.now = 100
        for second in range(3):
            progress.step(LastingStep(f"app: busy for {second} s", about="app: busy"))
            progress.step(LastingStep(f"server {second}: no limits"))
    assert out.getvalue().splitlines() == ["app: busy for 0 s", *(f"server {n}: no limits" for n in range(3))]


def test_steps_with_newer_figures_come_after_a_pause_only(clock: Clock) -> None:
    out = io.StringIO()
    with on(out, clock, terminal=False) as progress:
        for second in range(0, 60, 5):
            clock.now = second
            progress.step(Step(f"building: {second} s", about="building"))
    assert out.getvalue().splitlines() == [f"building: {second} s" for second in (0, 5, 20, 35, 50)]


def test_a_trial_has_its_own_name_after_the_steps_before_it(clock: Clock) -> None:
    out = io.StringIO()
    with on(out, clock, terminal=False) as progress:
        progress.start()
        progress.trial("t", "remote, one", "sweep 1")
        progress.step("bids: writing 1,000 rows to mariadb")
        clock.now = 100
        progress.live(in_second(850, 1_000_000, "measure"))
        clock.now = 200
        progress.step("bids: writing 1,000 rows to mariadb")
        progress.finished("invalid", [message("check.no_correct_reply")])
    lines = out.getvalue().splitlines()
    assert any("remote, one: 850 a second" in line for line in lines)
    assert "remote, one: " in lines[-1]
    assert not any("rows to mariadb: 850" in line for line in lines)


def test_quiet_prints_nothing(clock: Clock) -> None:
    out = io.StringIO()
    with on(out, clock, terminal=True, quiet=True) as progress:
        progress.step("starting redis")
        progress.start()
        progress.trial("t", "set", "trial 1 of 1")
        progress.live(in_second(1, 1, "measure"))
        progress.finished("invalid", [verbatim("bad")])
        progress.look("storage", 8, "decided", [verdict("faster", 12, 9, 15)])
    assert out.getvalue() == ""


def test_verbose_prints_one_line_a_trial_of_a_table(clock: Clock) -> None:
    out = io.StringIO()
    with on(out, clock, terminal=False, verbose=True) as progress:
        progress.start()
        for n, verdict in enumerate(("valid", "invalid", "valid"), 1):
            progress.left(20 * (4 - n), False)
            progress.trial(f"b01-00{n}", f"set, {n} kB", f"trial {n} of 3")
            progress.live(in_second(18_432, 1_200_000, "measure"))
            clock.now += 20
            progress.finished(verdict, [verbatim("generator CPU 93.4 %")] if verdict == "invalid" else [])
        progress.note("done\n")
    assert out.getvalue().splitlines() == [
        "✓ trial 1 of 3: set, 1 kB: valid, about 40 s left",
        "✕ trial 2 of 3: set, 2 kB: invalid. generator CPU 93.4 %, about 20 s left",
        "✓ trial 3 of 3: set, 3 kB: valid, about 0 s left",
        "done",
    ]


def test_verbose_prints_one_line_a_block_of_a_comparison(clock: Clock) -> None:
    out = io.StringIO()
    with on(out, clock, terminal=False, verbose=True) as progress:
        progress.start()
        progress.left(600, True)
        for block, verdicts in enumerate((("valid", "valid"), ("suspect", "valid"), ("invalid", "invalid")), 1):
            for verdict in verdicts:
                progress.trial("storage-b01-001", "json", f"storage: block {block}, look at 8")
                progress.finished(
                    verdict, [verbatim(f"{verdict} for a reason.")] if verdict != "valid" else [], in_block=True
                )
            progress.block(f"storage: block {block}, look at 8")
    assert out.getvalue().splitlines() == [
        "✓ storage: block 1, look at 8: valid, at most 10 min left",
        "! storage: block 2, look at 8: 1 valid, 1 suspect. suspect for a reason., at most 10 min left",
        "✕ storage: block 3, look at 8: invalid. invalid for a reason. (And 1 more.), at most 10 min left",
    ]


@pytest.mark.parametrize("terminal", [True, False])
def test_verbose_says_at_each_look_what_became_of_the_comparison(clock: Clock, terminal: bool) -> None:
    out = io.StringIO()
    with on(out, clock, terminal=terminal, verbose=True) as progress:
        progress.look("storage", 8, "go on", [verdict("undecided", 3, -1, 7)])
        progress.look("pool", 12, "go on", [verdict("undecided"), verdict("undecided")])
        progress.look("pool", 18, "decided", [verdict("faster", 12, 9, 15), verdict("equivalent", 0, -1, 1)])
        progress.look("update", 8, "out of budget", [verdict("undecided", 2, -1, 6)])
        progress.look("warm-up", 8, "decided", [refused_by("errors")])
    assert out.getvalue().splitlines() == [
        "storage, after 8 blocks: not decided yet, more follow: UNDECIDED: +3 % [-1, 7]",
        "pool, after 12 blocks: not decided yet, more follow",
        "pool, after 18 blocks: decided",
        "  string FASTER by 12 % [9, 15]",
        "  EQUIVALENT within 5 %: 0.0 % [-1.0, 1.0]",
        "update, after 8 blocks: not decided, and the budget is spent: UNDECIDED: +2 % [-1, 6]",
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
    progress.live(in_second(18_432, 1_200_000, "measure"))
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
    progress.finished("invalid", [verbatim("3.4 % of the operations failed.")], in_block=True)
    assert "✕ get, 1 kB, 8 workers: 3.4 % of the operations failed." in out.getvalue()
    assert "1 invalid" in out.getvalue()
    progress.stop()
    assert "\x1b[?25h" in out.getvalue()
    progress.stop()


def test_it_repaints_only_when_requested(clock: Clock) -> None:
    out = io.StringIO()
    progress = on(out, clock, terminal=True)
    progress.start()
    progress.trial("b01-000", "set", "trial 1 of 2")
    assert progress._screen is not None
    assert not progress._screen.auto_refresh
    progress.stop()


def test_the_time_left_counts_down_from_when_it_was_reported(clock: Clock) -> None:
    progress = on(io.StringIO(), clock, terminal=False)
    progress.start()
    progress.left(100, False)
    clock.now = 25
    assert progress.left_text() == "about 75 s left"
    progress.left(600, True)
    assert progress.left_text() == "at most 10 min left"
    clock.now = 5000
    assert progress.left_text() == "at most 0 s left"


def test_a_long_label_and_control_characters_do_no_harm(clock: Clock) -> None:
    out = io.StringIO()
    progress = on(out, clock, terminal=False, verbose=True)
    progress.start()
    progress.trial("t", "x" * 300 + "\x1b[2J[red]", "trial 1 of 1")
    progress.finished("valid", [])
    progress.look("\x1b[2J", 8, "decided", [verdict("faster", 12, 9, 15, names=("a", "\x1b[2J[red]"))])
    assert "\x1b" not in out.getvalue()
    assert "[2J[red]: valid" in out.getvalue()


def test_stop_without_start_is_allowed(clock: Clock) -> None:
    on(io.StringIO(), clock, terminal=True).stop()


def test_by_itself_it_writes_to_stderr_only(capfd: pytest.CaptureFixture[str]) -> None:
    with RunProgress() as progress:
        progress.start()
        progress.trial("t", "set", "trial 1 of 1")
        progress.live(in_second(18_432, None, "measure"))
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "trial 1 of 1; set: 18,432 a second" in captured.err


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
        progress.live(in_second(3210, 123_456_789, "warm_up"))
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
    assert said in " ".join(out.getvalue().split())
