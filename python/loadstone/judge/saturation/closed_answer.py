"""The closed model's answer, from the trials of one condition: those of the search, and of the sweeps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from loadstone.judge.saturation.level_probes import measured_again, probe_of, search_probes, sweep_blocks, sweeps_of
from loadstone.judge.statistics.saturation import TAIL_FROM, best_level, closed_saturation, least_cycle
from loadstone.judge.statistics.saturation_model import Estimate, Probe, Saturation, Sweep, at_least, no_point
from loadstone.judge.statistics.saturation_range import RangeSearch, search_range
from loadstone.judge.validity.bounds import FAR, bound_over
from loadstone.judge.verdict import up_to
from loadstone.message import Message, message
from loadstone.plan.saturation.saturation_settings import SaturationSettings
from loadstone.record.trial import TrialRecord

RISEN = 1.25
"""A level that does so many times as much later shows that time had to do with it."""


@dataclass(frozen=True)
class ClosedAnswer:
    """What was found, and what it rests on."""

    saturation: Saturation
    probes: tuple[Probe, ...]
    why: Message | None
    """Why the search ended; None where it did not."""
    sweeps: tuple[Sweep, ...]
    think_s: float
    unloaded_s: float | None
    """R_0: the shortest mean response time of any level, by N / X(N) less the pause."""
    unloaded_users: int | None = None
    """At how many users that is."""


def closed_answer(trials: Sequence[TrialRecord], settings: SaturationSettings) -> ClosedAnswer:
    """The answer of one condition's trials, of every attempt or the last ones."""
    pause_s, probes = think_s_of(trials), search_probes(trials)
    search, sweeps = search_range(probes, pause_s, settings.users_max), sweeps_of(trials)
    least = least_cycle(sweeps or [tuple(probes)])
    return ClosedAnswer(
        saturation=_saturation(trials, probes, search, sweeps),
        probes=tuple(probes),
        why=search.why,
        sweeps=tuple(sweeps),
        think_s=pause_s,
        unloaded_s=None if least is None else max(0.0, least[0] - pause_s),
        unloaded_users=None if least is None else least[1],
    )


def think_s_of(trials: Sequence[TrialRecord]) -> float:
    """The users' think time, as the plans of the trials have it."""
    models = (trial.facts.closed for trial in trials)
    return max((one.think_time_ms / 1e3 for one in models if one is not None), default=0.0)


def _saturation(
    trials: Sequence[TrialRecord],
    probes: Sequence[Probe],
    search: RangeSearch,
    sweeps: Sequence[Sweep],
) -> Saturation:
    if not trials:
        return no_point(message("saturation_not_measured"))
    best = _reached(trials, probes, sweeps)
    if search.answer is not None:
        return _still_warming(trials, search.answer)
    if not search.levels:
        return at_least(best, message("search_not_ended", users=probes[-1].users if probes else 0))
    if not sweeps:
        return at_least(best, message("sweeps_not_measured"))
    found = closed_saturation(sweeps)
    why = found.message.figures.get("why")
    if found.kind == "none" and isinstance(why, Message) and why.kind == "too_few_sweeps":
        return at_least(best, why)  # no interval yet; what was reached is known
    return _widened(found, trials)


def _reached(trials: Sequence[TrialRecord], probes: Sequence[Probe], sweeps: Sequence[Sweep]) -> float:
    """What the system did at least, a second: what its best level did in the sweeps.

    Where no sweep is whole, the levels of one that was begun count beside the search: each is one short trial.
    """
    if sweeps:
        return best_level(sweeps)
    begun = [(probe_of(trial),) for block in sweep_blocks(trials) for trial in block.values() if trial.phases]
    return best_level([*begun, tuple(probes)])


def _still_warming(trials: Sequence[TrialRecord], found: Saturation) -> Saturation:
    """The same bound, with the reason where one level did much more later than before."""
    both = measured_again(trials)
    if both is None or found.at_least_per_s is None:
        return found
    before, after = both
    if after.goodput_per_s < RISEN * before.goodput_per_s or after.saturation is None:
        return found
    rates = {"before_per_s": before.goodput_per_s, "after_per_s": after.goodput_per_s}
    return at_least(found.at_least_per_s, message("still_warming", users=after.saturation.users, **rates))


def _widened(found: Saturation, trials: Sequence[TrialRecord]) -> Saturation:
    """The intervals reach as far as the levels that they rest on could come without the generator and other programs.

    Where others took so much that no row would have a figure, only what was reached is known.
    """
    if found.users is None or found.per_s is None:
        return found
    from_users = TAIL_FROM * found.users.value if found.kind == "plateau" else found.users.value
    tail = [
        one
        for one in trials
        if one.saturation is not None and one.saturation.phase == "sweep" and (one.saturation.users or 0) >= from_users
    ]
    bound = bound_over(tail)
    if bound is None or not bound.total:
        return found
    if bound.taken is not None and 100 * bound.taken > FAR:
        return at_least(found.per_s.value, message("others_took", bound=up_to(bound.taken)))
    gain = bound.total
    users, per_s = _higher(found.users, gain), _higher(found.per_s, gain)
    figures = {**found.message.figures, "users": users.figures, "per_s": per_s.figures}
    return replace(found, users=users, per_s=per_s, message=found.message.model_copy(update={"figures": figures}))


def _higher(one: Estimate, gain: float) -> Estimate:
    return replace(one, high=one.high * (1 + gain))
