"""Two servers, and the first one once more, under the same recorded commands: what was found, and what it means."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, get_args

from loadstone.cli.named_servers import NamedServer
from loadstone.judge.verdict import AnalysisModel
from loadstone.servers import registry
from loadstone.servers.compared_replies import CommandReplies, ComparedReplies, ReplyOutcome
from loadstone.servers.server import DeployContext, Server

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
_OURS = frozenset(
    ("bind", "cluster-enabled", "daemonize", "dir", "logfile", "pidfile", "port", "proc-title-template", "requirepass")
)
"""Settings that loadstone itself makes, or that name the place of a server."""
_SETTING_MAX = 200
"""Characters of a setting beyond which it is no value that a person compares."""


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
    """What the servers keep for the recording's data."""


def check_upgrade(
    a: NamedServer, b: NamedServer, recording: Path, progress: Callable[[str], None], each_window: Callable[[int], None]
) -> UpgradeReport:
    """Start three servers, send them the recording and compare.

    Args:
        a: the server of now, which is started twice.
        b: the one that it is to be.
        recording: what `redis-cli MONITOR` printed.
        progress: takes what is being done, a line each.
        each_window: called some times a second with the number of commands that were sent.

    Raises:
        UserError: a server cannot be started, or the recording cannot be read.
        ServerGone: a server ended meanwhile.
    """
    with ExitStack() as held:
        work = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="loadstone-upgrade-")))
        context = DeployContext(work_root=work, log_folder=work / "logs", progress=progress)
        servers = [
            registry.make_server(name, settings)
            for name, settings in (("a", a.settings), ("twin", a.settings), ("b", b.settings))
        ]
        of_a, twin, of_b = servers

        def start() -> None:
            for server in servers:
                held.callback(server.stop)
                server.start(context)

        found = registry.compare_replies((of_a, twin, of_b), start, recording, each_window)
        return _report((a, b), (_version(of_a), _version(of_b)), found)


def _report(names: tuple[NamedServer, NamedServer], versions: tuple[str, str], found: ComparedReplies) -> UpgradeReport:
    a, b = found.a, found.b
    given = {name for named in names for name in named.settings.get("settings", {})}
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
    if differ:
        answer = "no"
    elif compared < COMPARED_LEAST or unclear > UNCLEAR_MOST * (compared + unclear):
        answer = "not_decidable"
    elif any((changed, unknown_settings, unknown_commands, more_memory, unclear, many_left_out, written_anew)):
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
