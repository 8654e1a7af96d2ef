"""One day: runs that are begun, broken, resumed and cleaned up after, as its seed draws it."""

import io
import json
import random
import re
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from loadstone.run.opening import Dependencies
from loadstone.run.request import RunRequest
from loadstone.run.run import RunResult, run
from loadstone.run_folder.files import ENVIRONMENT, PLAN
from loadstone.run_folder.ledger import CreatedObject
from loadstone.run_folder.ledger_file import RunLedger
from loadstone.run_folder.plan_summary import summarise_plan
from loadstone.run_folder.reading import read_plan
from loadstone.run_folder.resume import require_same_plan
from loadstone.safety import defect
from loadstone.safety.bounds.disk import on_disk
from loadstone.safety.errors import Interrupted, LoadstoneError

from ..fakes import FakeGauge, fake_monitors
from .disk import SimulatedDisk
from .experiments import KINDS, OURS, THEIRS, prepared
from .machines import VERSION, SimulatedDriver, SimulatedServer, Truth
from .world import Killed, World

MOMENTS = {"disk": 190, "server": 140, "drive": 30}
"""About how many of each kind a session has; faults are drawn within, and more of them early."""
KEPT_KEY = "theirs"
"""A key of the user's on their server."""


@dataclass(frozen=True)
class Ended:
    """How a session ended, as whoever started it sees it."""

    status: int | None
    """None: it was killed."""
    line: str
    """The last line on the terminal."""
    result: RunResult | None = None


@dataclass
class Day:
    """One day, while it is played."""

    seed: int
    root: Path
    tell: Callable[[str], None] = lambda _: None
    ends: list[Ended] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.world = World(self.rng, self.tell, drift=self.rng.uniform(-0.001, 0.001))
        self.disk, self.truth = SimulatedDisk(self.world), Truth()
        self.kind = self.rng.choice([*KINDS, "table", "blocks"])
        self.server = self.rng.choice((OURS, THEIRS))
        self.plan_seed, self.budget_s = self.rng.randrange(2**32), self.rng.choice((None, None, 20.0, 60.0))
        self.theirs = SimulatedServer(self.world, "redis", ours=False)
        self.theirs.store.keys[KEPT_KEY] = "x"
        self.mine: list[SimulatedServer] = []
        self.runs = self.root / "runs"
        self.runs.mkdir()

    @property
    def folder(self) -> Path | None:
        """The run's folder, where there is one that was begun."""
        return next(iter(sorted(path.parent for path in self.runs.glob(f"*/{PLAN}"))), None)

    def faces(self, name: str, settings: Mapping[str, Any]) -> SimulatedServer:
        """The server behind these settings."""
        if settings["kind"] == "url":
            server = self.theirs
        else:
            server = SimulatedServer(self.world, name, ours=True)
            self.mine.append(server)
        self.driver.servers.append(server)
        return server

    def draw_faults(self, number: int) -> None:
        """What comes at which moment of the next session."""
        for _ in range(number):
            kind = self.rng.choice(("disk", "disk", "server", "drive"))
            moment = int(MOMENTS[kind] * self.rng.random() ** 1.5)
            fault = self.rng.choice(FAULTS)
            self.world.due[kind, moment] = lambda fault=fault: fault(self)  # type: ignore[misc]

    def session(self, *, resume: Path | None = None, seed: int | None = None) -> Ended:
        """The command, from its start to its end, as `cli.main` ends it."""
        self.tell(f"--- session {len(self.ends) + 1}: {self.kind}, {self.server}, resume: {resume is not None}")
        world = self.world
        world.dead, world.monotonic = False, self.rng.uniform(10, 1e6)
        world.moments.clear()
        self.driver, self.mine = SimulatedDriver(world, [], self.truth), []
        screen = Console(file=io.StringIO(), width=300)
        try:
            with _signals(), on_disk(self.disk):
                done = self._run(screen, resume, seed)
            shown = screen.file.getvalue().strip()  # type: ignore[attr-defined]
            ended = Ended(done.status, shown.rpartition("\n")[2], done)
        except Killed:
            ended = Ended(None, "")
        except KeyboardInterrupt:
            ended = Ended(Interrupted.exit_status, "interrupted")
        except LoadstoneError as error:
            ended = Ended(error.exit_status, str(error))
        except Exception as error:
            ended = Ended(defect.STATUS, f"a defect: {error!r}")
            self.tell(traceback.format_exc())
        self.truth.session_ended(in_order=ended.result is not None)
        world.due.clear()
        world.dead = False
        for server in self.mine:  # their guards end them
            server.store.up = False
        if self.disk.is_cut:
            self.disk.settles(self.runs)
        self.disk.mended()
        self.tell(f"--- status {ended.status}: {ended.line}")
        self.ends.append(ended)
        return ended

    def _run(self, screen: Console, resume: Path | None, seed: int | None) -> RunResult:
        chosen = self.plan_seed if seed is None else seed
        plan = prepared(self.kind, self.server, chosen, self.budget_s)
        if resume is not None:
            if seed is None:
                plan = prepared(self.kind, self.server, read_plan(resume).seed, self.budget_s)
            require_same_plan(resume, summarise_plan(plan.run_plan))
        seams = Dependencies(
            lambda: self.driver,
            self.faces,
            fake_monitors,
            lambda *_: FakeGauge(),
            self.world.monotonic_s,
            self.world.unix_ns,
        )
        options = RunRequest(
            "simulated", out=self.runs, resume=resume, began_s=self.world.monotonic, command=("run", "simulated")
        )
        return run(options, plan, screen, Console(file=io.StringIO()), (), seams, formats=())

    def stranger(self, folder: Path) -> Path:
        """A copy as another machine's, whose ledger names a key of the user's."""
        copy = self.root / f"strangers-{len(self.ends)}" / folder.name
        shutil.copytree(folder, copy)
        environment = json.loads((copy / ENVIRONMENT).read_text())
        environment["machine"]["machine_id"] = "another"
        (copy / ENVIRONMENT).write_text(json.dumps(environment))
        with closing(RunLedger(copy)) as ledger:
            ledger.makes(self.theirs.control().place("redis"), [CreatedObject("key", KEPT_KEY)])
        return copy

    def night(self) -> None:
        """Between two sessions: time goes by, the wall clock is set, and someone looks after the server."""
        rng = self.rng
        self.world.passes(rng.choice((2.0, 100.0, 1500.0, 200_000.0)))
        self.world.wall += rng.choice((0.0, 0.0, 0.0, -3600.0, -20.0, 20.0, 86_400.0))
        self.theirs.hung = 0
        if not self.theirs.store.up:
            self.theirs.come_back()


@contextmanager
def _signals() -> Iterator[None]:
    """As `cli.main` has them before and after a run."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# The faults


def _of_server(name: str, change: Callable[[Day, SimulatedServer], None]) -> Callable[[Day], None]:
    def fault(day: Day) -> None:
        servers = [server for server in day.driver.servers if isinstance(server, SimulatedServer)]
        if servers:
            day.world.note(f"server {name}")
            change(day, servers[0])

    return fault


def _hangs(day: Day, server: SimulatedServer) -> None:
    server.hung = day.rng.choice((1, 3, 40))


def _restarted(_: Day, server: SimulatedServer) -> None:
    server.come_back()


def _emptied(_: Day, server: SimulatedServer) -> None:
    server.store.keys.clear()
    server.store.keys[KEPT_KEY] = "x"


def _replaced(_: Day, server: SimulatedServer) -> None:
    server.version = "7.4.1"
    server.come_back()


def _wrong(day: Day) -> None:
    day.world.note("wrong replies")
    day.driver.wrong = day.rng.choice((1, 30, 1000))


FAULTS: tuple[Callable[[Day], None], ...] = (
    lambda day: day.world.kill(),
    lambda day: day.world.kill(),
    lambda day: day.disk.cut(),
    lambda day: day.disk.cut(),
    lambda day: day.disk.breaks("full"),
    lambda day: day.disk.breaks("failing"),
    lambda day: day.disk.breaks("failing", once=True),
    lambda day: day.disk.breaks("read-only"),
    lambda day: day.world.ask_to_stop(signal.SIGINT),
    lambda day: day.world.ask_to_stop(signal.SIGINT, 2),
    lambda day: day.world.ask_to_stop(signal.SIGTERM),
    lambda day: day.world.ask_to_stop(signal.SIGTERM, 2),
    lambda day: day.world.sleep(),
    _of_server("lost", lambda _, server: server.end()),
    _of_server("hung", _hangs),
    _of_server("restarted", _restarted),
    _of_server("emptied", _emptied),
    _of_server("replaced", _replaced),
    _wrong,
)


def play(seed: int, root: Path, tell: Callable[[str], None] = lambda _: None) -> tuple[Day, list[str]]:
    """Play the day of a seed below an empty folder; the day, and what was wrong with it, a line each."""
    from .checks import after_day, after_session

    day, problems = Day(seed, root, tell), list[str]()
    sessions = day.rng.choice((1, 2, 2, 3, 4))
    for number in range(sessions):
        faults = (
            0 if number and number == sessions - 1 else day.rng.choice((0, 1, 2) if sessions == 1 else (1, 1, 2, 3))
        )
        day.draw_faults(faults)
        folder, refusal = day.folder, day.rng.choice(("", "", "", "", "", "", "--seed was", "on another machine"))
        if folder is None or (refusal and day.theirs.version != VERSION):
            refusal = ""
        of = folder if folder is None or refusal != "on another machine" else day.stranger(folder)
        day.session(resume=of, seed=day.plan_seed + 1 if refusal == "--seed was" else None)
        problems += after_session(day, refusal=refusal, undisturbed=not faults)
        day.night()
    return day, [re.sub(re.escape(str(root)), "...", one) for one in (*problems, *after_day(day))]
