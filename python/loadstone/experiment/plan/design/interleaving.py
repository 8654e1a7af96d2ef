"""Which conditions can take turns in rounds, all of them up at once; and if they cannot, why not.

A deck is conditions of tables that are on their servers together, with all their keys and connections. Where not all of
them fit, neighbours stay together: conditions that follow each other and differ in the same factor are the points of
one curve.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any
from urllib.parse import urlsplit

from loadstone.experiment.plan.deployment import split_urls
from loadstone.experiment.plan.design.planned_trial import ConditionParts
from loadstone.experiment.plan.drive_plan import Closed, Open, Plan
from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.operations import commands_of
from loadstone.experiment.plan.rounds import Processes, Rounds, table_rounds
from loadstone.experiment.plan.run_plan import TABLE_GROUP, expected_measure_s, expected_overhead_s
from loadstone.experiment.plan.stored_bytes import TOGETHER_BYTES_MAX, Footprint, of_load, stored_by
from loadstone.experiment.software import is_users, software_of
from loadstone.experiment.spec.driver_names import NATIVE, DriverWord
from loadstone.experiment.spec.experiment import default_margin
from loadstone.experiment.spec.levels import Condition, identity
from loadstone.text.message import Message, message

AS_WRITTEN = message("whole_trials.as_written")
"""The experiment itself says that whole trials are compared."""
AS_PUBLISHED = message("whole_trials.as_published")
"""The original's counts of operations are those of whole trials."""
_QUANTILES = ("p50", "p90", "p95", "p99", "p999")
SLICED_METRICS = frozenset(
    (
        "goodput_per_s",
        "throughput_per_s",
        "units_per_s",
        "response_ns.mean",
        *(f"{kind}.{quantile}" for kind in ("response_ns", "service_ns") for quantile in _QUANTILES),
    )
)
"""A peak is that of a whole second, a maximum that of a whole run."""
SUBJECT_BYTES = 5 * 2**28
"""What an application without a memory limit is taken to need: the JVM of `spring` has a heap of at most 1 GB."""
SERVER_BYTES = 2**26
"""Bytes of a server in memory, beside what it stores."""
DATABASE_BYTES = 2**29
MEMORY_SHARE = 0.75
"""The share of the machine's memory that they may take together: the rest is the system's and the generator's."""


def reason_not_interleaved(
    metric: str, conditions: Iterable[Condition], made: Mapping[str, ConditionParts], memory_bytes: int | None = None
) -> Message | None:
    """Why these conditions are compared by whole trials, one after the other; None where they take turns in rounds.

    Args:
        metric: what decides.
        conditions: what is compared.
        made: plans and parts of each condition, by its identity.
        memory_bytes: all of the machine's memory; None: it is not known, and taken to be enough.
    """
    parts = [made[identity(condition)] for condition in conditions]
    if metric not in SLICED_METRICS:
        return message("whole_trials.metric", metric=metric)
    if (of_parts := next(filter(None, map(_of_parts, parts)), None)) is not None:
        return of_parts
    if (name := _writes_on(parts)) is not None:
        return message("whole_trials.writes_on", server=name)
    if len({part.plan.phases.warm_up_s for part in parts}) > 1:
        return message("whole_trials.warm_up")
    return next(filter(None, (why_whole_plan(part.plan) for part in parts)), None) or _of_memory(parts, memory_bytes)


def _of_memory(parts: Sequence[ConditionParts], memory_bytes: int | None) -> Message | None:
    """Whether they cannot all be up. Conditions on the same servers and applications are up in any case."""
    if memory_bytes is None or processes_of(parts) == "shared":
        return None
    needed = _memory_needed_bytes(parts)
    if needed <= MEMORY_SHARE * memory_bytes:
        return None
    return message("whole_trials.memory", needed_gb=needed / 1e9, memory_gb=memory_bytes / 1e9)


def why_whole_row(parts: ConditionParts) -> Message | None:
    """Why a row of a table is measured by whole trials; None where it takes turns with others like it."""
    if parts.deployment.subjects:
        return message("whole_trials.subject")
    return _of_parts(parts) or why_whole_plan(parts.plan)


LONE_BYTES_MAX = 2**20
"""Limit of all documents that the users of a row alone send at once: what they take is then far below a slice."""
HERE = frozenset({"127.0.0.1", "localhost", "::1"})
UNKNOWN_TIMES = message("whole_trials.unknown_times")


def why_whole_alone(parts: ConditionParts) -> Message | None:
    """Why a row that no other one takes turns with is measured by whole trials; None where slices are known to fit.

    In a slice nothing is begun that would end far beyond it. So a row alone has slices where its requests are known to
    be short: quick commands on small documents, on servers of this machine.
    """
    deployment, plan = parts.deployment, parts.plan
    servers = [deployment.servers[name] for name in deployment.servers if deployment.target in (None, name)]
    users = plan.model.users if isinstance(plan.model, Closed) else plan.pool.connections
    at_once = users * plan.pipeline_depth * plan.documents.payload_bytes
    commands = [(server, command.args) for server in servers for one in plan.operations for command in commands_of(one)]
    is_short = all(words and words[0].upper() in software_of(server).quick for server, words in commands)
    if is_short and commands and at_once <= LONE_BYTES_MAX and all(map(_is_here, servers)):
        return None
    return UNKNOWN_TIMES


def _is_here(server: Mapping[str, Any]) -> bool:
    """Whether a server is started by us, or named by an address of this machine, and no delay line leads to it."""
    if server.get("link") or server.get("host"):
        return False
    if not is_users(server):
        return True
    return all(urlsplit(url).hostname in HERE for url in split_urls(str(server["url"])))


def _of_parts(parts: ConditionParts) -> Message | None:
    """What is read off parts that others have, too."""
    if parts.deployment.driver != NATIVE:
        return message("whole_trials.driver", driver=DriverWord.of(parts.deployment.driver).place)
    if parts.deployment.stored:
        return message("whole_trials.counted")
    return None


def why_whole_plan(plan: Plan) -> Message | None:
    """Why a plan cannot be driven in slices: what in it has a beginning or an end of its own. None where it can."""
    if plan.phases.ramp_up_s > 0 or getattr(plan.model, "ramp_up", None) is not None:
        return message("whole_trials.ramp_up")
    if plan.keys.distribution == "exactly_once":
        return message("whole_trials.exactly_once")
    if plan.recording is not None:
        return message("whole_trials.recording")
    if plan.receivers is not None:
        return message("whole_trials.receivers")
    if isinstance(plan.model, Open) and plan.model.schedule:
        return message("whole_trials.schedule")
    return None


def processes_of(parts: Sequence[ConditionParts]) -> Processes:
    """What stands behind these conditions; servers are started again where that is cheap, and nothing is lost by it."""
    subjects = any(part.deployment.subjects for part in parts)
    if not subjects and not _servers_differ(parts):
        return "shared"
    if subjects:
        return "once" if _servers_differ(parts) or _subjects_differ(parts) else "shared"
    cheap = all(_starts_at_once(server) for part in parts for server in part.deployment.servers.values())
    return "restarted" if cheap and not any(part.deployment.data for part in parts) else "once"


def _servers_differ(parts: Iterable[ConditionParts]) -> bool:
    """Whether not all of them have the same servers."""
    return len({repr(part.deployment.servers) for part in parts}) > 1


def _subjects_differ(parts: Iterable[ConditionParts]) -> bool:
    """Whether not all of them have the same applications."""
    return len({repr(part.deployment.subjects) for part in parts}) > 1


def _writes_on(parts: Sequence[ConditionParts]) -> str | None:
    """A server of ours that not all have, and that goes on writing to the disk: its name; None if there is none."""
    every = [{_key(name, server) for name, server in part.deployment.servers.items()} for part in parts]
    common = set.intersection(*every)
    for one in parts:
        for name, server in one.deployment.servers.items():
            own = _key(name, server) not in common and not is_users(server)
            if own and software_of(server).writes_on(_settings(server)):
                return name
    return None


def _memory_needed_bytes(parts: Iterable[ConditionParts]) -> int:
    """What these conditions take on this machine while all of them are up, their applications and servers of ours."""
    servers: dict[str, int] = {}
    subjects: dict[str, int] = {}
    stored = 0
    for one in parts:
        deployment = one.deployment
        for name, server in deployment.servers.items():
            if not is_users(server):
                in_memory = software_of(server).in_memory
                servers[_key(name, server)] = SERVER_BYTES if in_memory else DATABASE_BYTES
        ours = [server for server in deployment.servers.values() if not is_users(server)]
        if ours and not deployment.subjects:
            stored += stored_by([one.plan] if one.load is None else [one.load, one.plan])
        for name, subject in deployment.subjects.items():
            limit = subject.limits.get("memory")
            each = limit if isinstance(limit, int) else SUBJECT_BYTES
            of_ours = 0 if subject.urls else subject.replicas
            subjects[repr((name, subject, deployment.servers))] = of_ours * each
    return sum(servers.values()) + sum(subjects.values()) + stored


def _starts_at_once(server: Mapping[str, Any]) -> bool:
    return str(server.get("kind", "")) in software_of(server).starts_at_once


def _settings(server: Mapping[str, Any]) -> Mapping[str, Any]:
    settings = server.get("settings")
    return settings if isinstance(settings, Mapping) else {}


def _key(name: str, server: Mapping[str, Any]) -> str:
    return repr((name, sorted(server.items(), key=str)))


CONDITIONS_MAX = 64
"""A block is measured whole or not at all: with more of them an interruption would cost minutes."""
CONNECTIONS_MAX = 3500
"""Below what a Redis takes where 4,096 files may be open, and far below its own limit of 10,000."""


def _decks_that_fit(conditions: Sequence[Condition], made: Mapping[str, ConditionParts]) -> list[tuple[Condition, ...]]:
    """The conditions in their order, in as few decks as hold them; one that fits nowhere is a deck of its own.

    Args:
        conditions: they can be up together (`experiment.plan.design.interleaving`).
        made: plans and parts of each condition, by its identity.
    """
    decks: list[list[Condition]] = []
    for curve in _curves(conditions):
        if decks and _fit([*decks[-1], *curve], made):
            decks[-1] += curve
        elif _fit(curve, made):
            decks.append(list(curve))
        else:
            decks += _cut(curve, made)
    return [tuple(deck) for deck in decks]


def _cut(curve: Iterable[Condition], made: Mapping[str, ConditionParts]) -> list[list[Condition]]:
    """A curve that is too large for one deck."""
    decks: list[list[Condition]] = []
    for condition in curve:
        if decks and _fit([*decks[-1], condition], made):
            decks[-1].append(condition)
        else:
            decks.append([condition])
    return decks


def _curves(conditions: Sequence[Condition]) -> Iterator[list[Condition]]:
    """The conditions, those of one curve together."""
    curve: list[Condition] = []
    along: set[str] = set()
    for condition in conditions:
        differ = _differences(curve[-1], condition) if curve else set()
        if curve and (len(differ) != 1 or (along and differ != along)):
            yield curve
            curve, along = [], set()
        elif curve:
            along = differ
        curve.append(condition)
    if curve:
        yield curve


def _differences(a: Condition, b: Condition) -> set[str]:
    return {name for name in a.keys() | b.keys() if a.get(name) != b.get(name)}


def _fit(deck: Sequence[Condition], made: Mapping[str, ConditionParts]) -> bool:
    if len(deck) > CONDITIONS_MAX:
        return False
    parts = [made[identity(condition)] for condition in deck]
    stored = sum((of_load(part.plan, part.load) for part in parts), Footprint())
    return stored.bytes <= TOGETHER_BYTES_MAX and sum(part.plan.pool.connections for part in parts) <= CONNECTIONS_MAX


def table_groups(
    conditions: Sequence[Condition],
    made: Mapping[str, ConditionParts],
    *,
    metric: str,
    blocks: int,
    slice_s: float | None,
    whole_trials: Message | None,
) -> list[Group]:
    """The rows that are measured in slices first, deck by deck, then the others, each kind with the reason why.

    A row that no other one takes turns with is measured in slices as well: loadstone's own work falls between them.

    Args:
        conditions: the rows, in the order of the tables.
        made: plans and parts of each condition, by its identity.
        metric: the experiment's primary one.
        blocks: how often each row is measured.
        slice_s: how long a slice is; None: by the rule of `experiment.plan.rounds`.
        whole_trials: why no row takes turns; None where those may that can.
    """
    decks, apart = _split(conditions, made, whole_trials)
    groups: list[Group] = []
    for deck in decks:
        measure_s = fmean(expected_measure_s(made[identity(condition)].plan) for condition in deck)
        rounds = table_rounds(blocks, measure_s, slice_s, rows=len(deck))
        if len(deck) == 1:  # which needs no time of others for its own warm-up
            rounds = replace(rounds, warm_up_s=made[identity(deck[0])].plan.phases.warm_up_s)
        groups.append(_group(len(groups), deck, metric, made, blocks, rounds=rounds))
    for why, rows in apart:
        groups.append(_group(len(groups), tuple(rows), metric, made, blocks, why=why))
    return groups


def split_rows(
    conditions: Sequence[Condition], made: Mapping[str, ConditionParts], whole_trials: Message | None
) -> tuple[list[tuple[Condition, ...]], list[tuple[Message, Condition]]]:
    """Decks of rows that can take turns, one of a kind as well; and the rows that cannot, each with the reason why.

    `whole_trials`: why none of them does; None where those may that can.
    """
    families: dict[str, list[Condition]] = {}
    whole: list[tuple[Message, Condition]] = []
    for condition in conditions:
        parts = made[identity(condition)]
        why = whole_trials or why_whole_row(parts)
        if why is not None:
            whole.append((why, condition))
        else:
            families.setdefault(_up_together(parts), []).append(condition)
    return [deck for family in families.values() for deck in _decks_that_fit(family, made)], whole


def mean_overhead_s(conditions: Iterable[Condition], made: Mapping[str, ConditionParts]) -> float:
    """What a trial takes on average beside its measure phase."""
    return round(fmean(expected_overhead_s(made[identity(condition)].plan) for condition in conditions), 3)


def _split(
    conditions: Sequence[Condition], made: Mapping[str, ConditionParts], whole_trials: Message | None
) -> tuple[list[tuple[Condition, ...]], list[tuple[Message, list[Condition]]]]:
    """Decks of rows that take turns, of one row as well, and the other rows by the reason why they do not."""
    decks, apart = split_rows(conditions, made, whole_trials)
    in_rounds: list[tuple[Condition, ...]] = []
    for deck in decks:
        why = why_whole_alone(made[identity(deck[0])]) if len(deck) == 1 else None
        if why is None:
            in_rounds.append(deck)
        else:
            apart.append((why, deck[0]))
    reasons: list[tuple[Message, list[Condition]]] = []
    for reason, condition in apart:
        same = next((rows for known, rows in reasons if known == reason), None)
        if same is None:
            reasons.append((reason, [condition]))
        else:
            same.append(condition)
    return in_rounds, reasons


def _up_together(parts: ConditionParts) -> str:
    """What is the same of conditions that can be measured in one round."""
    deployment = parts.deployment
    return repr((deployment.servers, deployment.target, deployment.data, parts.plan.phases.warm_up_s))


def _group(
    number: int,
    conditions: tuple[Condition, ...],
    metric: str,
    made: Mapping[str, ConditionParts],
    blocks: int,
    *,
    rounds: Rounds | None = None,
    why: Message | None = None,
) -> Group:
    plans = [made[identity(condition)].plan for condition in conditions]
    return Group(
        name=TABLE_GROUP if number == 0 else f"{TABLE_GROUP}-{number + 1}",
        conditions=conditions,
        pairs=(),
        metric=metric,
        margin=default_margin(metric),
        looks=(blocks,),
        sequential=False,
        warm_block=False,
        trial_s=rounds.mean_measured_s if rounds else round(fmean(map(expected_measure_s, plans)), 3),
        overhead_s=rounds.mean_overhead_s if rounds else mean_overhead_s(conditions, made),
        rounds=rounds,
        whole_trials=why,
    )
