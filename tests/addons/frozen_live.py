"""What runs tell while they go on, and the pages of that: two by a script and its clock, two as they were measured."""

import io
import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rich.console import Console
from starlette.requests import Request
from tests.frozen_runs import Files, in_language, unpacked

from loadstone.addons.pages.following import Following, series
from loadstone.addons.pages.live import figures
from loadstone.addons.pages.page import part_of_page
from loadstone.addons.pages.settings import PageSettings
from loadstone.drivers.outcome import AgentInterval, AgentState
from loadstone.experiment.plan.rounds import Rounds
from loadstone.judge.verdict import CpuCost, Verdict
from loadstone.machine.start_context import LastingStep, Step
from loadstone.monitors.monitor import Sample
from loadstone.report.live.events import RunEvents
from loadstone.report.live.live_panel import LiveFigures
from loadstone.report.live.progress import RunProgress
from loadstone.text.language import LANGUAGES, use_language
from loadstone.text.message import message
from tests import verdicts

MEASURED = ("gate-rate", "gate-twin")
"""Frozen runs with what they told."""
COLUMNS = 100
UNIX_S = 1_800_000_000.0
_OF_THE_PROCESS = ("pid", "pid_started_ticks", "boot")
PAIRS = ("string against json", "hash against json")
STORAGE = {
    "name": "storage", "question": "Is it faster as a string?", "pairs": [*PAIRS], "unit": "round",
    "looks": [12, 20, 32], "metric": "goodput_per_s", "margin": 0.05,
}  # fmt: skip


class Clock:
    """Goes on where the script says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def unix_s(self) -> float:
        """The same since 1970."""
        return UNIX_S + self.now


class Kept:
    """The lines of `events.jsonl`, without what differs from process to process."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def append(self, record: Mapping[str, Any]) -> int:
        """See `Lines`."""
        self.lines.append({name: value for name, value in record.items() if name not in _OF_THE_PROCESS})
        return len(json.dumps(record))

    def size(self) -> int:
        """See `Lines`."""
        return 0

    def close(self) -> None:
        """See `Lines`."""


def live(folder: Path) -> Files:
    """Of each run: what it tells, what stands on the terminal, and its page."""
    files: Files = {}
    for name, script in SCRIPTS.items():
        for language in LANGUAGES:
            lines, printed = _told(script, language)
            if language == LANGUAGES[0]:
                files[f"{name}.events.jsonl"] = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
            files[in_language(f"{name}.txt", language)] = printed.encode()
        events = files[f"{name}.events.jsonl"].splitlines()
        files |= _pages(name, map(json.loads, events))
        files |= _pages(f"{name}-half", map(json.loads, events[: len(events) // 2]))
    for name in MEASURED:
        files |= _pages(name, map(json.loads, (unpacked(name, folder) / "events.jsonl").read_text().splitlines()))
    return files


def _told(script: Callable[[RunProgress, Clock, Kept], None], language: str) -> tuple[list[dict[str, Any]], str]:
    clock, kept, printed = Clock(), Kept(), io.StringIO()
    console = Console(file=printed, width=COLUMNS, force_terminal=False, color_system=None, highlight=False)
    with (
        use_language(language),
        RunProgress(console, clock, events=RunEvents(clock, clock.unix_s)) as progress,
    ):
        script(progress, clock, kept)
    return kept.lines, printed.getvalue()


def _pages(name: str, lines: Iterable[dict[str, object]]) -> Files:
    """The page, and the figures that its pictures are sent."""
    run = Following(Path(name))
    for line in lines:
        run.told.take(line)
    run.fate = "ended" if run.told.ended is not None else "running"
    app = SimpleNamespace(state=SimpleNamespace(place=PageSettings(Path("runs"), Path("experiments"))))
    scope = {"type": "http", "path": f"/runs/{name}", "headers": [], "app": app, "state": {"nonce": "nonce"}}
    request = Request(scope)
    files = {f"{name}.series.json": f"{series(run.told.points)}\n".encode()}
    for language in LANGUAGES:
        with use_language(language):
            page = part_of_page(request, "live.html", name=name, **figures(run))
        content = page[page.index("<main") :]  # before it stand the digests of scripts and styles
        files[in_language(f"{name}.html", language)] = content.encode()
    return files


def verdict(kind: str, *percents: float, **more: Any) -> Verdict:
    """A verdict whose ratios are no finer than any machine's logarithm."""
    ratios: dict[str, Any] = {
        name: round(math.log1p(percent / 100), 6)
        for name, percent in zip(("estimate", "low", "high"), percents, strict=True)
    }
    return verdicts.verdict(kind, *percents, **ratios, **more)


def _study(progress: RunProgress, clock: Clock, kept: Kept) -> None:
    """Two pairs in rounds, of which one begins again with longer slices, and a table."""
    progress.step(Step("starting redis"))
    progress.note("before there is a folder")
    progress.events.open(
        kept, experiment="json", question="Which one is faster?", quick=True, expected_s=60.0, budget_s=300.0,
        groups=[STORAGE],
    )  # fmt: skip
    progress.start()
    progress.left(60, True)
    progress.decided(0, 2)
    _measured(progress, clock, "storage b00", "warm-up", {"json": 900, "string": 800})
    _measured(progress, clock, "storage b01", "rounds 1 to 12", {"json": 1000, "string": 1300}, failed=3)
    progress.look("storage", 12, "go on", [verdict("undecided", 20, -10, 30), verdicts.refused_by("errors")], PAIRS)
    progress.lengthened(
        "storage", Rounds((12, 8), slice_s=0.4), message("check.errors.failed", percent=0.4, kinds={"timeout": 3})
    )
    _measured(progress, clock, "storage b02", "rounds 1 to 20", {"json": 1010, "string": 1290})
    by_cost = verdict("faster", -20, -25, -15, metric="cpu_ns.redis", larger_is_faster=False, winner="b")
    faster, same = verdict("faster", 28, 20, 35), verdict("equivalent", 1, -2, 3)
    progress.look("storage", 20, "decided", [faster, same], PAIRS, [None, by_cost])
    progress.events.cost("json", "storage-b02-001", {"redis": CpuCost(ns=12_345.67, low_ns=12_000.0, high_ns=12_700.0)})
    progress.decided(2, 2)
    progress.left(10, False)
    _measured(progress, clock, "b01-001", "trial 1 of 2", {"set, 100 B": 18_432})
    progress.finished("invalid", [message("check.errors.failed", percent=1.5, kinds={"timeout": 15})])
    progress.note(LastingStep("the disk has 200 MB left"))
    progress.last_step("writing the report")
    clock.now += 2
    progress.events.ended(3, "a server is gone")


def _search(progress: RunProgress, clock: Clock, kept: Kept) -> None:
    """A saturation point, searched by two agents of which one is lost, and stopped by its user."""
    progress.events.open(
        kept, experiment="saturate", question="Where does it saturate?", quick=False, expected_s=65.0, budget_s=0.0,
        groups=[],
    )  # fmt: skip
    progress.start()
    progress.agents([AgentState(name="gen-1", state="ready"), AgentState(name="gen-2", state="ready")])
    for users in (1, 2, 4, 8):
        name = f"saturation-{users:03d}"
        _measured(progress, clock, name, f"{users} users", {"GET {key}": 900 * users}, agents=("gen-1", "gen-2"))
        progress.searched(users, 900.0 * users)
        progress.left(65 - clock.now, False)
    progress.agents(
        [AgentState(name="gen-1", state="ready"), AgentState(name="gen-2", state="lost", why="no answer for 5 s")]
    )
    _measured(progress, clock, "saturation-016", "16 users", {"GET {key}": 7000}, agents=("gen-1",))
    progress.rated(5000.0, kept=True)
    progress.rated(9000.0, kept=False)
    progress.events.stopping = True
    _measured(progress, clock, "saturation-032", "32 users", {"GET {key}": 7100}, agents=("gen-1",))
    progress.events.ended(130, "interrupted")


def _measured(
    progress: RunProgress,
    clock: Clock,
    trial: str,
    place: str,
    rates: Mapping[str, float],
    failed: int = 0,
    agents: tuple[str, ...] = (),
) -> None:
    """Two seconds of these conditions, in turn, and what the monitors see of them."""
    progress.trial(trial, next(iter(rates)), place)
    for second in range(2):
        for label, tps in rates.items():
            progress.live(_second(tps + 10 * second, failed, agents), label)
        clock.now += 1
        cpus = 0.5 + 0.25 * second
        progress.sample(
            [
                Sample(clock.unix_s(), "redis", "cpu_share", cpus),
                Sample(clock.unix_s(), "redis", "rss_bytes", 5e7),
                Sample(clock.unix_s(), "redis", "connected_clients", 9),
            ]
        )


def _second(tps: float, failed: int, agents: tuple[str, ...]) -> LiveFigures:
    kinds = {"timeout": failed} if failed else {}
    each = tuple(
        AgentInterval(name=name, duration_s=1.0, offered=round(tps / len(agents)), ok=round(tps / len(agents)),
                      errors=0, p99_ns=2_000_000, cpu_s=0.3, late_s=0.01)
        for name in agents
    )  # fmt: skip
    return LiveFigures(
        "measure", tps, 1_000_000, 2_000_000, errors=failed, generator_cpu=0.62, ok=round(tps), duration_s=1.0,
        mean_ns=1.1e6, errors_by_kind=kinds, agents=each,
    )  # fmt: skip


SCRIPTS = {"study": _study, "search": _search}
"""Runs by their names, as they go."""
