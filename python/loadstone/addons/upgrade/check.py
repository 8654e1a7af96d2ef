"""Two servers, and the first one once more, under the same recorded commands: what was found, and what it means."""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import psutil

from loadstone.cli.named_servers import NamedServer
from loadstone.judge.statistics.signed_rank import INTERVAL_ALPHA, signed_rank
from loadstone.judge.verdict import AnalysisModel
from loadstone.machine import process_table
from loadstone.safety.errors import UserError
from loadstone.servers import registry
from loadstone.servers.compared_replies import CommandReplies, ComparedReplies, FourNs, ReplyOutcome, WayBack
from loadstone.servers.server import DeployContext, Server
from loadstone.text.message import said

UpgradeAnswer = Literal["yes", "yes_but", "no", "not_decidable"]
COMPARED_LEAST = 100
"""Fewer compared replies answer nothing."""
LEFT_OUT_MOST = 0.01
"""If a larger share of the recording is not sent, an upgrade is no plain yes."""
UNCLEAR_MOST = 0.1
"""If nothing can be said of a larger share of the replies, the rest answers nothing either."""
MEMORY_MORE = 0.1
"""Share of more memory from which on an upgrade is no plain yes."""
MEMORY_LEAST = 1_000_000
"""Bytes of data below which what a server itself needs hides theirs."""
CPU_MORE = 0.05
"""Share of more CPU time from which on an upgrade is no plain yes."""
CPU_PARTS_LEAST = 20
"""Fewer parts of a recording than that, and nothing is said of CPU times."""
FREE_LEAST = 1.1
"""What must be free for each server that is still to start: so many times what the last one took."""
_OURS = frozenset(
    ("bind", "cluster-enabled", "daemonize", "dir", "logfile", "pidfile", "port", "proc-title-template", "requirepass")
)
"""Settings that loadstone itself makes, or that name the place of a server."""
_SETTING_MAX = 200
"""Characters of a setting beyond which it is no value that a person compares."""


@dataclass(frozen=True)
class Traffic:
    """What is sent, and to which data."""

    recording: Path
    """What `redis-cli MONITOR` printed, or an append-only file."""
    data: Path | None
    """A snapshot (`dump.rdb`) that all servers begin with; None: they are empty."""


class ChangedSetting(AnalysisModel):
    """A default that is another one."""

    name: str
    a: str
    b: str


class CommandFound(AnalysisModel):
    """What became of one command of the recording."""

    name: str
    sent: int
    equal: int
    unordered: int
    numbers: int
    free: int
    unclear: int
    differ: int
    only_a_fails: int
    only_b_fails: int
    examples: list[str]


class CpuFound(AnalysisModel):
    """CPU time of a server for one command, on average over the recording, in µs."""

    a_us: float
    b_us: float
    b_to_a: float
    low: float
    high: float
    """The 95 % interval of `b_to_a` over parts of the recording, wider by what two starts of each server differ by."""


class WayBackFound(AnalysisModel):
    """Whether the first server takes what the second one wrote."""

    keys: int
    """Those of the second one that do not expire."""
    from_snapshot: int | None
    """How many of them it loaded; None: it did not."""
    as_replica: int | None
    why_not: list[str]


class BrokenOffFound(AnalysisModel):
    """The second server did not answer what the first one did, and closed the connection."""

    first_line: int
    last_line: int
    ended: bool
    """Whether the server itself was gone."""


class UpgradeReport(AnalysisModel):
    """Everything that was found."""

    format: Literal[1] = 1
    a: str
    b: str
    versions: tuple[str, str]
    answer: UpgradeAnswer
    sent: int
    compared: int
    differ: int
    """Replies that differ, and errors of one server alone."""
    unclear: int
    left_out: dict[str, int]
    """Command and why it was not sent -> how many."""
    cut_off: bool
    commands: list[CommandFound]
    unknown_commands: list[str]
    """Those that the second server does not know."""
    unknown_settings: list[str]
    changed_defaults: list[ChangedSetting]
    data_bytes: tuple[int, int]
    """What the servers keep for their data."""
    broken_off: BrokenOffFound | None
    """What follows was not sent; None: all was."""
    only_writes: bool
    """Whether the recording is an append-only file, which has no reads."""
    start_s: tuple[float, float]
    """How long each took until it answered, with what it was given to begin with."""
    cpu: CpuFound | None
    """None: too few commands, or a server that cannot be observed."""
    way_back: WayBackFound | None
    """None: not tried."""


def check_upgrade(
    a: NamedServer,
    b: NamedServer,
    traffic: Traffic,
    progress: Callable[[str], None],
    each_window: Callable[[int], None],
) -> UpgradeReport:
    """Start four servers, send them the recording and compare.

    Args:
        a: the server of now, which is started twice.
        b: the one that it is to be.
        traffic: what is sent, and to which data.
        progress: takes what is being done, a line each.
        each_window: called some times a second with the number of commands that were sent.

    Raises:
        UserError: a server cannot be started, or the recording cannot be read.
        ServerGone: a server ended meanwhile.
    """
    with ExitStack() as held:
        work = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="loadstone-upgrade-")))
        context = DeployContext(work_root=work, log_folder=work / "logs", progress=progress)
        versions = registry.compared_versions()
        versions.require_recording(traffic.recording)
        of_a, of_b, a_twin, b_twin, again = (
            registry.make_server(name, named.settings)
            for name, named in (("a", a), ("b", b), ("a-twin", a), ("b-twin", b), ("a", a))
        )
        servers = of_a, of_b, a_twin, b_twin
        start_s = list[float]()
        for server in servers:
            if traffic.data is not None:
                versions.begin_with(server, traffic.data)
            held.callback(server.stop)
            began_s = time.monotonic()
            server.start(context)
            start_s.append(time.monotonic() - began_s)
            taken = sum(process_table.resident_bytes(pid) for pid in server.pids.values())
            require_room(traffic, taken, psutil.virtual_memory().available, left=len(servers) - len(start_s))
        found = versions.replies(servers, traffic.recording, each_window)
        for server in (of_a, a_twin, b_twin):
            server.stop()
        back = versions.way_back(again, of_b, context) if found.broken_off is None else None
        return _report(
            (a, b),
            found,
            versions=(_version(of_a), _version(of_b)),
            start_s=(min(start_s[::2]), min(start_s[1::2])),
            back=None if back is None else _found_back(back),
        )


def require_room(traffic: Traffic, taken: int, free: int, left: int) -> None:
    """Raises UserError where so many more servers, as large as the one that took these bytes, do not fit."""
    if free >= FREE_LEAST * taken * left:
        return
    raise UserError(
        "upgrade-check: each of four servers takes {taken:,.0f} MB, and {free:,.0f} MB of this machine's memory are "
        "left; {remedy}, or take a larger machine",
        taken=taken / 1e6,
        free=free / 1e6,
        remedy=said("end other programs") if traffic.data is None else said("name a part of the data by --data"),
    )


def _found_back(back: WayBack) -> WayBackFound:
    tried = back.from_snapshot, back.as_replica
    return WayBackFound(
        keys=back.keys,
        from_snapshot=back.from_snapshot if isinstance(back.from_snapshot, int) else None,
        as_replica=back.as_replica if isinstance(back.as_replica, int) else None,
        why_not=[str(one) for one in tried if not isinstance(one, int)],
    )


def cpu_of(cpu_ns: Sequence[FourNs], sent: int) -> CpuFound | None:
    """CPU times of both servers, from those of each part of a recording; None from too few for an interval."""
    parts = np.array([part for part in cpu_ns if min(part) > 0], dtype=np.float64)
    if len(parts) < CPU_PARTS_LEAST:
        return None
    a, b, a_twin, b_twin = np.log(parts).T
    ratio = signed_rank((b + b_twin - a - a_twin) / 2, INTERVAL_ALPHA)
    of_starts = abs(np.median(a_twin - a)) + abs(np.median(b_twin - b))
    assert ratio.low is not None
    assert ratio.high is not None
    all_ns = parts.sum(axis=0)
    return CpuFound(
        a_us=float((all_ns[0] + all_ns[2]) / 2 / sent / 1000),
        b_us=float((all_ns[1] + all_ns[3]) / 2 / sent / 1000),
        b_to_a=float(np.exp(ratio.estimate)),
        low=float(np.exp(ratio.low - of_starts)),
        high=float(np.exp(ratio.high + of_starts)),
    )


def costs_more(cpu: CpuFound) -> bool:
    """Whether the second server takes more CPU time than its starts and the first one's explain."""
    return cpu.low > 1 + CPU_MORE


def _report(
    names: tuple[NamedServer, NamedServer],
    found: ComparedReplies,
    *,
    versions: tuple[str, str],
    start_s: tuple[float, float],
    back: WayBackFound | None,
) -> UpgradeReport:
    a, b = found.a, found.b
    given = {name for named in names for name in named.settings.get("settings", {})}
    cpu = cpu_of(found.cpu_ns, found.sent)
    no_way_back = back is not None and back.from_snapshot != back.keys
    compared = sum(one.compared for one in found.commands.values())
    differ = sum(one.differ for one in found.commands.values())
    unclear = sum(one.unclear for one in found.commands.values())
    changed = list(_changed(a.settings, b.settings, given))
    unknown_settings = sorted(set(a.settings) - set(b.settings) - _OURS)
    unknown_commands = sorted(a.commands - b.commands)
    more_memory = a.data_bytes >= MEMORY_LEAST and b.data_bytes > (1 + MEMORY_MORE) * a.data_bytes
    left_out = sum(found.left_out.values())
    written_anew = sum(one.outcomes["numbers"] for one in found.commands.values())
    many_left_out = left_out > LEFT_OUT_MOST * (left_out + found.sent)
    answer: UpgradeAnswer = "yes"
    broken_off = found.broken_off
    if differ or broken_off is not None:
        answer = "no"
    elif compared < COMPARED_LEAST or unclear > UNCLEAR_MOST * (compared + unclear):
        answer = "not_decidable"
    elif any(
        (
            *(changed, unknown_settings, unknown_commands, more_memory, unclear, many_left_out, written_anew),
            *(no_way_back, cpu is not None and costs_more(cpu)),
        )
    ):
        answer = "yes_but"
    return UpgradeReport(
        a=names[0].name,
        b=names[1].name,
        versions=versions,
        answer=answer,
        sent=found.sent,
        compared=compared,
        differ=differ,
        unclear=unclear,
        left_out={f"{name}: {why}": count for (name, why), count in Counter(found.left_out).most_common()},
        cut_off=found.cut_off,
        commands=[_found(name, one) for name, one in _by_weight(found.commands)],
        unknown_commands=unknown_commands,
        unknown_settings=unknown_settings,
        changed_defaults=changed,
        data_bytes=(a.data_bytes, b.data_bytes),
        broken_off=None
        if broken_off is None
        else BrokenOffFound(first_line=broken_off.lines[0], last_line=broken_off.lines[1], ended=broken_off.ended),
        only_writes=found.only_writes,
        start_s=start_s,
        cpu=cpu,
        way_back=back,
    )


def _changed(a: Mapping[str, str], b: Mapping[str, str], given: set[str]) -> Iterator[ChangedSetting]:
    """Defaults that differ: neither what the user sets nor what loadstone itself does."""
    for name in sorted(set(a) & set(b) - _OURS - given):
        if a[name] != b[name] and max(len(a[name]), len(b[name])) <= _SETTING_MAX:
            yield ChangedSetting(name=name, a=a[name], b=b[name])


def _version(server: Server) -> str:
    return f"{server.facts.software} {server.facts.version}"


def _by_weight(commands: Mapping[str, CommandReplies]) -> Sequence[tuple[str, CommandReplies]]:
    """Those whose replies differ first, then by how many there are."""
    return sorted(commands.items(), key=lambda item: (-item[1].differ, -item[1].unclear, -item[1].sent, item[0]))


def _found(name: str, one: CommandReplies) -> CommandFound:
    return CommandFound(
        name=name,
        sent=one.sent,
        unclear=one.unclear,
        examples=[f"line {example.line:,}: {example.a} -> {example.b}" for example in one.examples],
        **{outcome: one.outcomes[outcome] for outcome in get_args(ReplyOutcome)},
    )
