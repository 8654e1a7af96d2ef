"""`loadstone redis --replay`: what was recorded of a Redis, sent again at its own speed, another or the highest."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loadstone.cli.ad_hoc_experiment import LEAST_S, LONGEST_S
from loadstone.cli.load import Load
from loadstone.cli.operations import LoadRow, YamlMapping
from loadstone.cli.redis_options import ReplayOptions
from loadstone.experiment.plan.operations import SPEED_MAX, RecordedLoad
from loadstone.safety.errors import UserError
from loadstone.servers.recordings import recorded_load
from loadstone.text.language import _, in_language, translated

OPTION, SPEED = "--replay", "--speed"
ROW = "replay"
HIGHEST = "max"
CONNECTIONS_MAX = 10_000
"""Where none are given: one for each client, up to so many."""
SLOWER, PATIENCE_S = 2.0, 60.0
"""A server that cannot keep up is given so many times the recording's length, and so much more."""
BUDGET_S = 3000.0
"""What takes longer is given a budget of its own."""
NAMES_SHOWN = 12
_NOT_WITH = {
    *(
        "--tests",
        "--ratio",
        "--command",
        "--commands",
        "--load",
        "--documents",
        "--data-size",
        "--data-size-range",
        "--data",
    ),
    *("--data-size-list", "--verify", "--keys", "--key-pattern", "--zipf", "--requests", "--rate", "--rates"),
    *("--rate-limiting", "--arrivals", "--precise", "--think", "--at-rate", "--against", "--read-from"),
}
"""Options that say what is sent and when, which the recording says."""
_TIMES = re.compile(r"(\d{1,7}(?:\.\d{1,6})?)x?", re.ASCII | re.IGNORECASE)
_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Replay:
    """A recording, and how it is sent again."""

    path: Path
    recorded: RecordedLoad
    speed: float | None
    """How many times as fast as it was recorded; None: as fast as possible."""
    connections: int
    test_time_s: float | None
    """It ends after so long at the latest."""
    of_a_cluster: bool = False
    """Whether it goes to a cluster."""

    @property
    def length_s(self) -> float:
        """Return how long it takes where the server keeps up; 0 where that depends on the server alone."""
        return 0.0 if self.speed is None else self.recorded.length_s / self.speed

    @property
    def row(self) -> LoadRow:
        """One operation a command, in the recording's order."""
        names = Counter[str]()
        operations: list[YamlMapping] = []
        for command in self.recorded.commands:
            name = _NAME.sub("-", command.lower()).strip("-")
            names[name] += 1
            number = f"-{names[name]}" if names[name] > 1 else ""
            operations.append({"name": f"{name}{number}", "commands": [{"args": [command], "expect": "any"}]})
        return LoadRow(ROW, tuple(operations), modules=("json",) if self._has_json else ())

    @property
    def _has_json(self) -> bool:
        return any(command.startswith("JSON.") for command in self.recorded.commands)

    @property
    def _number(self) -> int:
        """Return the number of commands that are sent."""
        return self.recorded.number_in_a_cluster if self.of_a_cluster else self.recorded.number

    def workload(self, warm_up_s: float) -> YamlMapping:
        """What of the workload is the recording's. Raises UserError."""
        recording: YamlMapping = {"path": str(self.path.resolve())}
        if self.speed is None:
            model: YamlMapping = {"kind": "closed", "users": self.connections}
        else:
            rate_per_s = self._number / max(self.length_s, LEAST_S)
            model = {"kind": "open", "rate_per_s": round(rate_per_s, 3), "arrivals": "recorded"}
            recording["speed"] = self.speed
        if warm_up_s >= self.length_s and warm_up_s and self.speed is not None:
            raise UserError(
                "--warm-up: as long as the recording ({length_s:.1f} s at this speed); write less",
                length_s=self.length_s,
            )
        longest_s = LONGEST_S if self.speed is None else SLOWER * self.length_s + PATIENCE_S
        phases = {
            "warm_up_s": warm_up_s,
            "measure_s": round(max(LEAST_S, self.length_s - warm_up_s), 3) if self.test_time_s is None else LEAST_S,
            "measure_max_s": round(longest_s, 3) if self.test_time_s is None else self.test_time_s,
        }
        pool = {"connections": self.connections}
        return {"model": model, "pool": pool, "phases": phases, "recording": recording}

    @property
    def lines(self) -> list[str]:
        """What is sent again, and what is not and why: a line each."""
        found = self.recorded
        if self.speed is None:
            how = _("as fast as possible")
        else:
            how = _("at its own speed") if self.speed == 1 else _("at {speed:g} times its speed", speed=self.speed)
        figures = {
            "path": self.path,
            "commands": self._number,
            "clients": found.clients,
            "seconds": found.length_s,
            "how": how,
            "connections": self.connections,
        }
        lines = [
            _(
                "replay of {path}: {commands:,} commands of {clients:,} clients in {seconds:,.1f} s, {how}, over "
                "{connections:,} connections to each node",
                **figures,
            )
            if self.of_a_cluster
            else _(
                "replay of {path}: {commands:,} commands of {clients:,} clients in {seconds:,.1f} s, {how}, over "
                "{connections:,} connections",
                **figures,
            )
        ]
        left_out = Counter(found.left_out) + Counter(found.not_in_a_cluster if self.of_a_cluster else {})
        left = sorted(left_out.items(), key=lambda one: (-one[1], *map(str, one[0])))
        if left:
            shown = [
                f"{count:,} {translated(name)} ({in_language(reason)})" for (name, reason), count in left[:NAMES_SHOWN]
            ]
            more = [_("and {n} other kinds", n=len(left) - NAMES_SHOWN)] if len(left) > NAMES_SHOWN else []
            lines.append(_("left out of it: {n:,}: {each}", n=left_out.total(), each=", ".join([*shown, *more])))
        if found.set_forward:
            lines.append(_("times that go back a little, counted from the time before: {n:,}", n=found.set_forward))
        if found.cut_off:
            lines.append(_("its last line has no end, and is left out"))
        return lines


def replay_of(recording: ReplayOptions, load: Load, given: Sequence[str], *, of_a_cluster: bool) -> Replay | None:
    """The recording as the options have it; reads it. None where none is sent again.

    `given`: all options. Raises UserError that names the option.
    """
    path = recording.replayed
    if path is None:
        if recording.speed is not None:
            raise UserError("{speed}: belongs to a recording; add {option} FILE", speed=SPEED, option=OPTION)
        return None
    for option in (option for option in given if option in _NOT_WITH):
        raise UserError(
            "{option}, {other}: the recording says what is sent, and when; leave one of them out",
            option=OPTION,
            other=option,
        )
    factor = _speed(recording.speed)
    try:
        recorded = recorded_load(path.resolve())
    except UserError as error:
        raise UserError("{option} {error}", option=OPTION, error=error) from None
    if of_a_cluster and not recorded.number_in_a_cluster:
        (name, reason), count = max(recorded.not_in_a_cluster.items(), key=lambda one: one[1])
        raise UserError(
            "{option} {path}: holds no command that a cluster takes; most of all {count:,} {name}: {reason}",
            option=OPTION,
            path=path,
            count=count,
            name=name,
            reason=reason,
        )
    connections = load.connections or min(recorded.clients, CONNECTIONS_MAX)
    if recorded.transactions and connections < recorded.clients:
        raise UserError(
            "-c {connections}: the recording has transactions, and {clients:,} clients: each needs a connection of "
            "its own; write -c {clients}, or take MULTI and EXEC out of the recording",
            connections=connections,
            clients=recorded.clients,
        )
    return Replay(path, recorded, factor, connections, load.measure_s, of_a_cluster)


def _speed(text: str | None) -> float | None:
    if text is not None and text.strip().lower() == HIGHEST:
        return None
    match = _TIMES.fullmatch("1" if text is None else text.strip())
    factor = float(match[1]) if match else 0.0
    if not 0 < factor <= SPEED_MAX:
        raise UserError(
            "{speed} {text}: no speed; write 2x, 0.5x, or {highest} for as fast as possible",
            speed=SPEED,
            text=text,
            highest=HIGHEST,
        )
    return factor


def with_replay(load: Load, replay: Replay) -> Load:
    """Return the load as it is measured: once, if nothing else is said, and with the time that it takes."""
    blocks = load.repeat or 1
    whole_s = blocks * (replay.length_s + PATIENCE_S)
    budget = f"{SLOWER * whole_s:.0f} s" if load.budget is None and whole_s > BUDGET_S else load.budget
    return replace(load, repeat=blocks, connections=replay.connections, budget=budget, usual_warm_up_s=0.0)
