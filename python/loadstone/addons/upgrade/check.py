"""Two servers, and the first one once more, under the same recorded commands: what was found, and what it means."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from loadstone.addons.upgrade.replies import Comparison, Outcome, Tips, tips_of
from loadstone.addons.upgrade.traffic import Channel, CommandReplies, Replay
from loadstone.cli.named_servers import NamedServer
from loadstone.judge.verdict import AnalysisModel
from loadstone.safety.bounds.replies import read_as
from loadstone.servers import registry
from loadstone.servers.redis.recording import open_recording
from loadstone.servers.redis.session import RedisSession
from loadstone.servers.server import DeployContext, Server
from loadstone.text.language import said

Answer = Literal["yes", "yes_but", "no", "not_decidable"]
COMPARED_LEAST = 100
"""Fewer compared replies answer nothing."""
LEFT_OUT_MOST = 0.01
"""If a larger share of the recording is not sent, an upgrade is no plain yes."""
UNCLEAR_MOST = 0.1
"""Of more replies of which nothing can be said, the rest answers nothing either."""
MEMORY_MORE = 0.1
"""By so much more memory an upgrade is no plain yes."""
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
    answer: Answer
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


@dataclass(frozen=True)
class _Side:
    server: Server
    session: RedisSession
    tips: Tips
    settings: Mapping[str, str]
    empty_bytes: int


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
    with ExitStack() as held, open_recording(recording) as lines:
        work = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="loadstone-upgrade-")))
        sides = [
            _started(held, name, settings, DeployContext(work_root=work, log_folder=work / "logs", progress=progress))
            for name, settings in (("a", a.settings), ("twin", a.settings), ("b", b.settings))
        ]
        a_way, twin_way, b_way = (held.enter_context(Channel(_session(held, side.server))) for side in sides)
        replay = Replay(Comparison(sides[0].tips, sides[2].tips), (a_way, twin_way, b_way))
        replay.run(lines, lambda: each_window(replay.sent))
        kept = [_used_bytes(side.session) - side.empty_bytes for side in sides]
        return _report((a, b), (sides[0], sides[2]), replay, (kept[0], kept[2]), cut_off=lines.cut_off)


def _started(held: ExitStack, name: str, settings: Mapping[str, Any], context: DeployContext) -> _Side:
    server = registry.make_server(name, settings)
    held.callback(server.stop)
    server.start(context)
    control = _session(held, server)
    with read_as(name, "COMMAND", said("its commands")):
        tips = tips_of(control.call(b"COMMAND"))
    settings_told = control.call(b"CONFIG", b"GET", b"*")
    with read_as(name, "CONFIG GET", said("names and values")):
        words = [word.decode(errors="replace") for word in settings_told]
    return _Side(server, control, tips, dict(zip(words[::2], words[1::2], strict=True)), _used_bytes(control))


def _session(held: ExitStack, server: Server) -> RedisSession:
    control = held.enter_context(server.control())
    assert isinstance(control, RedisSession)
    return control


def _used_bytes(session: RedisSession) -> int:
    with read_as("of Redis", "INFO", said("figures")):
        return int(session.info("memory")["used_memory"])


def _report(
    names: tuple[NamedServer, NamedServer],
    sides: tuple[_Side, _Side],
    replay: Replay,
    data_bytes: tuple[int, int],
    *,
    cut_off: bool,
) -> UpgradeReport:
    a, b = sides
    given = {name for named in names for name in named.settings.get("settings", {})}
    compared = sum(one.compared for one in replay.commands.values())
    differ = sum(one.differ for one in replay.commands.values())
    unclear = sum(one.unclear for one in replay.commands.values())
    changed = list(_changed(a.settings, b.settings, given))
    unknown_settings = sorted(set(a.settings) - set(b.settings) - _OURS)
    unknown_commands = sorted(a.tips.names - b.tips.names)
    more_memory = data_bytes[0] >= MEMORY_LEAST and data_bytes[1] > (1 + MEMORY_MORE) * data_bytes[0]
    left_out = sum(replay.left_out.values())
    written_anew = sum(one.outcomes["numbers"] for one in replay.commands.values())
    many_left_out = left_out > LEFT_OUT_MOST * (left_out + replay.sent)
    answer: Answer = "yes"
    if differ:
        answer = "no"
    elif compared < COMPARED_LEAST or unclear > UNCLEAR_MOST * (compared + unclear):
        answer = "not_decidable"
    elif any((changed, unknown_settings, unknown_commands, more_memory, unclear, many_left_out, written_anew)):
        answer = "yes_but"
    return UpgradeReport(
        a=names[0].name,
        b=names[1].name,
        versions=(_version(a.server), _version(b.server)),
        answer=answer,
        sent=replay.sent,
        compared=compared,
        differ=differ,
        unclear=unclear,
        left_out={f"{name}: {why}": count for (name, why), count in replay.left_out.most_common()},
        cut_off=cut_off,
        commands=[_found(name, one) for name, one in _by_weight(replay.commands)],
        unknown_commands=unknown_commands,
        unknown_settings=unknown_settings,
        changed_defaults=changed,
        data_bytes=data_bytes,
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
        **{outcome: one.outcomes[outcome] for outcome in get_args(Outcome)},
    )
