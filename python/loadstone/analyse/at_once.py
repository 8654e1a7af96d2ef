"""How much generator and server did at once: why latency may fall as the rate grows."""

from collections.abc import Sequence

from loadstone.analyse.model import AtOnce
from loadstone.drive.outcome import ThreadCalls
from loadstone.record.facts import TrialFacts
from loadstone.record.parts.part_kinds import declared
from loadstone.record.trial import TrialRecord

_SWITCHES = "voluntary_per_s"


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
        server_wakeups_per_s=_mean(wakes) if len(wakes) == len(known) else None,
    )


def _server_wakeups(facts: TrialFacts) -> float | None:
    """How often a second the threads of the servers that execute commands began to run; None: not observed.

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
