"""What was observed beside a row's load: by servers, applications, the machine, receivers and the generator itself."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loadstone.drivers.histogram import decode, merge, quantiles_ns
from loadstone.drivers.outcome import DriveRecord, ThreadCalls
from loadstone.judge.analysis.analysis import AtOnce, Deliveries, EndpointCounts
from loadstone.run_folder.facts import AvgMax, StoredFacts, TrialFacts
from loadstone.run_folder.part_kinds import declared
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety.errors import DriveFailed

_SWITCHES = "voluntary_per_s"


def server_side(trials: Sequence[TrialRecord]) -> dict[str, Any]:
    """`Row.stored`, `Row.answered`, `Row.seen` and the like over these trials, which are at least one."""
    known = [(trial, trial.facts) for trial in trials if trial.facts.plan is not None]
    return {
        "stored": _sum([stored_rows(facts) for _, facts in known]),
        "answered": _sum([_answered(facts) for _, facts in known]),
        "ours": all(facts.placement is not None for _, facts in known),
        "stored_keys": _sum([stored_keys(facts) for _, facts in known]),
        "seen": _averages([(facts, trial.duration_s) for trial, facts in known]),
        "endpoints": _endpoint_counts({trial.drive: facts for trial, facts in known}.values()),
        **_sent_on({trial.drive: facts.drive for trial, facts in known if facts.drive is not None}),
        "kinds": {part: kind for _, facts in known for part in facts.seen if (kind := facts.kind_of(part)) is not None},
    }


def _sent_on(drives: Mapping[str, DriveRecord]) -> dict[str, Any]:
    """What happened to the servers, of each drive once, whichever of its observations it is known of."""
    found = [drive.redirections for drive in drives.values() if drive.redirections is not None]
    counts = {"moved": sum(one.moved for one in found), "ask": sum(one.ask for one in found)}
    addresses = (one.unknown_address for one in found if one.unknown_address is not None)
    gaps = [gap for drive in drives.values() for gap in drive.failovers]
    return {
        "failovers_s": [None if gap.answered_s is None else gap.answered_s - gap.lost_s for gap in gaps],
        "redirections": {kind: count for kind, count in counts.items() if count},
        "unknown_nodes": list(dict.fromkeys(addresses)),
    }


def _endpoint_counts(drives: Iterable[TrialFacts]) -> list[EndpointCounts]:
    """Return the counts of each server that got anything, over these drives; nothing where no replica is read from.

    `drives`: one of each drive's observations.
    """
    found: dict[str, EndpointCounts] = {}
    for facts in drives:
        if facts.drive is None:
            continue
        names = _names_of(facts.replica_of)
        for name, primary, one in zip(names, facts.replica_of, facts.drive.endpoints, strict=False):
            before = found.get(name) or EndpointCounts(name=name, replica=primary is not None, sent=0, ok=0, stale=0)
            sums = {"sent": before.sent + one.sent, "ok": before.ok + one.ok, "stale": before.stale + one.stale}
            found[name] = before.model_copy(update=sums)
    return [one for one in found.values() if one.sent]


def _names_of(replica_of: Sequence[int | None]) -> list[str]:
    """What endpoints are called, in their order."""
    primaries = [number for number, primary in enumerate(replica_of) if primary is None]
    replicas = [number for number, primary in enumerate(replica_of) if primary is not None]
    several = len({replica_of[number] for number in replicas}) > 1 or _is_cluster(replica_of)
    names = {number: f"primary {place}" if several else "primary" for place, number in enumerate(primaries, start=1)}
    names |= {number: f"replica {place}" for place, number in enumerate(replicas, start=1)}
    return [names[number] for number in range(len(replica_of))]


def _is_cluster(replica_of: Sequence[int | None]) -> bool:
    """Its first two endpoints are primaries; else what is no replica gets nothing but the first."""
    return len(replica_of) > 1 and replica_of[1] is None


def users_of(trial: TrialRecord) -> int | None:
    """Users of the closed model; None of the open one."""
    return None if trial.facts.closed is None else trial.facts.closed.users


def stored_rows(facts: TrialFacts) -> int | None:
    """Rows that the servers had more after the trial; None where nothing was counted, or not all of it."""
    return _sum([None if one.before is None or one.after is None else one.after - one.before for one in facts.stored])


def _answered(facts: TrialFacts) -> int | None:
    """Correct replies of what is counted, in the whole drive as the count is; None where nothing was counted."""
    return sum(one.answered for one in facts.stored) if facts.stored else None


def stored_keys(facts: TrialFacts) -> int | None:
    """Keys that each Redis of which rows were counted had more after the trial; None where there is none."""
    by_server = {one.server: _keys(one) for one in facts.stored if _keys(one) is not None}
    return _sum(list(by_server.values()))


def _keys(one: StoredFacts) -> int | None:
    return None if one.keys_before is None or one.keys_after is None else one.keys_after - one.keys_before


def _sum(numbers: Sequence[int | None]) -> int | None:
    """All together; None where one is not known, or there are none."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known and len(known) == len(numbers) else None


def _averages(trials: Sequence[tuple[TrialFacts, float]]) -> dict[str, dict[str, AvgMax]]:
    """Each part and metric: the average over the time of all trials that have it, and the highest of their maxima."""
    collected: dict[str, dict[str, list[tuple[AvgMax, float]]]] = {}
    for facts, length_s in trials:
        for part, figures in facts.seen.items():
            for metric, figure in figures.items():
                collected.setdefault(part, {}).setdefault(metric, []).append((figure, length_s))
    return {
        part: {metric: _together(figures) for metric, figures in metrics.items()} for part, metrics in collected.items()
    }


def _together(figures: Iterable[tuple[AvgMax, float]]) -> AvgMax:
    known = list(figures)
    weight = sum(length_s for _, length_s in known)
    average = sum(figure.avg * length_s for figure, length_s in known) / weight if weight else known[0][0].avg
    return AvgMax(avg=average, max=max(figure.max for figure, _ in known))


def at_once(trials: Sequence[TrialRecord]) -> AtOnce | None:
    """Over these trials; None where the generator did not count it in all of them."""
    known = [(trial, trial.facts.drive) for trial in trials if trial.facts.drive is not None]
    calls = [thread.calls for _, drive in known for thread in drive.threads]
    counted = [one for one in calls if one is not None]
    elapsed_s = sum(trial.duration_s for trial, _ in known)
    if not counted or len(counted) < len(calls) or elapsed_s <= 0:
        return None
    total = ThreadCalls(
        **{name: sum(getattr(one, name) for one in counted) for name in ThreadCalls.model_fields}  # of all threads
    )
    wakes = [(rate, trial.duration_s) for trial, _ in known if (rate := _server_wakeups(trial.facts)) is not None]
    return AtOnce(
        wakeups_per_s=total.wakeups / elapsed_s,
        replies_a_wakeup=total.replies / total.wakeups if total.wakeups else None,
        requests_a_send=total.requests / total.sends if total.sends else None,
        awake=total.spun_ns / 1e9 / elapsed_s,
        server_wakeups_per_s=_mean(wakes) if len(wakes) == len(known) else None,
    )


def _server_wakeups(facts: TrialFacts) -> float | None:
    """Return how often a second the threads of the servers that execute commands began to run; None: not observed.

    Within slices by the kernel's count of the main thread; else by what monitors saw of all threads.
    """
    servers = [part for part, kind in facts.kinds.items() if declared(kind).store]
    slices = () if facts.drive is None else facts.drive.slices
    if slices:
        found = [one.parts[part].main_runs for one in slices for part in servers if part in one.parts]
        runs = [number for number in found if number is not None]
        measured_s = sum(one.end_s - one.begin_s for one in slices)
        return sum(runs) / measured_s if runs and len(runs) == len(found) and measured_s > 0 else None
    switched = [facts.seen[part][_SWITCHES].avg for part in servers if _SWITCHES in facts.seen.get(part, {})]
    return sum(switched) if switched else None


def _mean(weighted: Sequence[tuple[float, float]]) -> float | None:
    weights = sum(weight for _, weight in weighted)
    return sum(value * weight for value, weight in weighted) / weights if weights > 0 else None


def deliveries(trials: Sequence[TrialRecord]) -> Deliveries | None:
    """Over these trials; None where one of them had no receivers."""
    drives = [trial.facts.drive for trial in trials if trial.facts.drive is not None]
    found = [drive.receivers for drive in drives if drive.receivers is not None]
    measured_s = sum(drive.measure_s for drive in drives)
    if not found or len(found) < len(trials) or measured_s <= 0:
        return None
    summaries = [one.delivery_ns for one in found if one.delivery_ns.count]
    count = sum(summary.count for summary in summaries)
    try:
        merged = merge(decode(one.delivery_histogram) for one in found)
    except DriveFailed:
        return None
    return Deliveries(
        per_s=sum(one.window_delivered for one in found) / measured_s,
        expected=sum(one.expected for one in found),
        delivered=sum(one.delivered for one in found),
        missing=sum(one.missing for one in found),
        disconnected=sum(one.disconnected for one in found),
        delivery_ns=quantiles_ns(
            merged,
            sum(max(one.expected, one.delivered) for one in found),
            least=min((summary.min for summary in summaries), default=None),
            mean=sum(summary.mean * summary.count for summary in summaries) / count if count else None,
            greatest=max((summary.max for summary in summaries), default=None),
        ),
    )
