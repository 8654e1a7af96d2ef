"""From the levels of a condition to where its capacity goes: the parts, the limits, and the model if it holds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from loadstone.addons.capacity.model.answer import Capacity, CapacityLevel, CapacityLimit, CapacityPart, Prediction
from loadstone.addons.capacity.model.load_levels import LoadLevel, PartLoad
from loadstone.addons.capacity.model.model import (
    FULL,
    LEVELS_MIN,
    HeldOutResults,
    Model,
    Predicted,
    Rests,
    StationGroup,
    WhatIfChange,
    busiest_share,
    fit,
    groups_of,
    hold_out,
    rest_s,
    share_of,
)
from loadstone.experiment.spec.levels import Condition
from loadstone.judge.cost import costs_of
from loadstone.judge.stations import stations_of
from loadstone.judge.typical_load import TypicalLoad, typical_load
from loadstone.judge.verdict import CpuCost
from loadstone.run_folder.facts import DRIVER
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import Message, message

_NS = 1e9
SOLVED_USERS_MAX = 250_000
"""Limit for all levels of a condition together: solving as many users takes about a minute."""
SOLVED_LEVELS_MAX = 32
"""If a condition has more levels, the model has this many of them, evenly spread: the time grows with the third power
of their number."""
_REACH_MIN = 0.02
"""J: no prediction is better than that, however small the errors on a few levels happened to be."""
_NO_CPU = ("lock", "pool", "line", "disk")
_FLAT = 1.15
"""J: users that grow by half or more, and a rate that grows by less than this: something lets no more through."""
_QUIET = 0.75
"""J: below this busy share a part is not what lets no more through."""
_NOISY = 0.5
"""J: from this share of the worst error on, the levels' own spread explains it."""
_STARVED = 0.1
"""J: of the time without a CPU that a thread was ready for."""
_OTHERS = 0.25
"""J: less of the servers' CPU time, taken by others or by the parts themselves, does not explain a rate."""
_WANTED = 0.5
"""J: of the time that it ran or was ready to; what wants less of its CPU is not held up by that."""
_WAITING = 0.25
"""J: of a response time, for a connection of the generator."""


@dataclass(frozen=True)
class Fitted:
    """A model of the levels from some users on, and how it did on those that it did not know."""

    model: Model
    held: HeldOutResults

    @property
    def reach(self) -> float:
        """Half of the 95 % interval of a prediction, as a log ratio."""
        return max(_REACH_MIN, self.held.reach)

    def ends(self, users: int, change: WhatIfChange) -> tuple[Predicted, Predicted]:
        """The slow and the fast end of what may be expected: all that was measured takes more, or less.

        Without pauses, as most runs are, that is the error on rates; with them a response may be off by more than that,
        and the rate, which the pauses make, by less. Where pauses were measured, the error is one of the rate.
        """
        if self.model.levels[-1].think_s:
            found, factor = self.model.predict(users, change), math.exp(self.reach)
            think_s = users / found.per_s - found.response_s
            slow, fast = found.per_s / factor, found.per_s * factor
            ends = ((one, max(0.0, users / one - think_s)) for one in (slow, fast))
            slower, faster = (replace(found, per_s=per_s, response_s=response_s) for per_s, response_s in ends)
            return slower, faster
        slower, faster = (
            self.model.predict(users, replace(change, slower=math.exp(reach))) for reach in (self.reach, -self.reach)
        )
        return slower, faster


@dataclass(frozen=True)
class Checked:
    """What foretells a condition: models that hold, from the one of most levels on."""

    fitted: tuple[Fitted, ...]

    @property
    def whole(self) -> Fitted:
        return self.fitted[0]

    @property
    def best(self) -> Fitted:
        """The one whose predictions reach least."""
        return min(self.fitted, key=lambda one: one.reach)

    def predict(self, users: int, change: WhatIfChange = WhatIfChange()) -> Prediction | None:
        """None where this run says nothing of so many: below its levels; or beyond them, where nothing was full."""
        least, most = self.whole.model.levels[0], self.whole.model.levels[-1]
        thinks_longer = change.think_s is not None and change.think_s > least.think_s
        if (users < least.users and not thinks_longer) or (users > most.users and not self.whole.model.full):
            return None
        holds = [one for one in self.fitted if one.model.levels[0].users <= users and not thinks_longer]
        chosen = min(holds or [self.whole], key=lambda one: one.reach)
        found = chosen.model.predict(users, change)
        slow, fast = chosen.ends(users, change)
        same = change == WhatIfChange()
        measured = next((one for one in chosen.model.levels if same and one.users == users), None)
        fullest = (
            None
            if measured is None
            else max(groups_of(measured), key=lambda group: share_of(measured, group), default=None)
        )
        return Prediction(
            users=users,
            per_s=found.per_s,
            low_per_s=slow.per_s,
            high_per_s=fast.per_s,
            response_s=found.response_s,
            low_s=fast.response_s,
            high_s=slow.response_s,
            busiest=found.busiest if fullest is None else fullest.name,
            busy_share=min(1.0, found.busy if measured is None or fullest is None else share_of(measured, fullest)),
            measured_per_s=None if measured is None else measured.per_s,
        )


def check(levels: Sequence[LoadLevel]) -> tuple[Checked | None, HeldOutResults | None]:
    """The models that hold, down from that of most levels; none, and how one did on all levels, where none does.

    With few users a request may cost several times as much as with one more, since servers and generator fall asleep
    between requests: from how many on a model holds is part of the answer, and each has the error of its own range.
    """
    if not groups_of(levels[-1]) or _too_many(levels):
        return None, None
    levels = _spread(levels)
    rests: Rests = {}
    whole = hold_out(levels, rests)
    fitted = []
    for first in range(len(levels) - LEVELS_MIN + 1):
        held = whole if not first else hold_out(levels[first:], rests)
        if held is not None and held.passed:
            fitted.append(Fitted(fit(levels[first:], rests), held))
    return (Checked(tuple(fitted)), fitted[0].held) if fitted else (None, whole)


def _too_many(levels: Sequence[LoadLevel]) -> bool:
    return sum(level.users for level in levels) > SOLVED_USERS_MAX


def _spread(levels: Sequence[LoadLevel]) -> Sequence[LoadLevel]:
    """No more than the model is solved for, the first and the last among them."""
    if len(levels) <= SOLVED_LEVELS_MAX:
        return levels
    step = (len(levels) - 1) / (SOLVED_LEVELS_MAX - 1)
    return [levels[round(place * step)] for place in range(SOLVED_LEVELS_MAX)]


def capacity_of(condition: Condition, label: str, levels: Sequence[LoadLevel]) -> tuple[Capacity, Checked | None]:
    """Where the capacity of one condition goes. `levels`: at least one, in the order of their users."""
    shown = max(levels, key=lambda level: level.per_s)
    checked, held = check(levels)
    predicted = {} if held is None else {one.level.users: one.predicted.per_s for one in held.levels}
    refusal = None if checked is not None else _refusal(levels, held)
    limits = _limits(shown)
    apart = limits and busiest_share(shown) < FULL and not _too_many([shown])
    capacity = Capacity(
        condition=condition,
        label=label,
        users=shown.users,
        per_s=shown.per_s,
        response_s=shown.response_s,
        waiting_s=rest_s(shown, 1.0, 1.0) if apart else None,
        parts=_parts(shown),
        limits=limits,
        limit=_limit(shown, limits),
        levels=[
            CapacityLevel(
                users=level.users,
                think_s=level.think_s,
                per_s=level.per_s,
                response_s=level.response_s,
                predicted_per_s=predicted.get(level.users),
            )
            for level in levels
        ],
        checked_from=None if checked is None else checked.whole.model.levels[0].users,
        error=None if held is None else held.typical,
        reach=None if checked is None else checked.best.reach,
        best_from=None if checked is None else checked.best.model.levels[0].users,
        refusal=refusal,
    )
    return capacity, checked


def _parts(level: LoadLevel) -> list[CapacityPart]:
    costs, groups = costs_of(level.trials), groups_of(level)
    found = []
    for name, part in level.parts.items():
        group = next((one for one in groups if name in one.parts), None)
        cost = costs.get(name, CpuCost(ns=_NS * part.demand_s))
        ends = (cost.low_ns, cost.high_ns)
        disk_ns = _NS * part.disk_s
        found.append(
            CapacityPart(
                name=name,
                cost=cost,
                cpus=part.cpus,
                one_thread=part.one_thread,
                shares_with=[] if group is None else [other for other in group.parts if other != name],
                busy_share=None if group is None else share_of(level, group),
                disk_ns=disk_ns or None,
                most_per_s=_passes(part, cost.ns + disk_ns),
                most_low_per_s=_passes(part, ends[1] + disk_ns) if ends[1] else None,
                most_high_per_s=_passes(part, ends[0] + disk_ns) if ends[0] else None,
            )
        )
    return sorted(found, key=lambda one: (one.most_per_s or math.inf, one.name))


def _passes(part: PartLoad, each_ns: float) -> float | None:
    """The bottleneck law, m / D."""
    return None if part.cpus is None else _NS * part.cpus / each_ns


def most_per_s(level: LoadLevel, group: StationGroup) -> float:
    """What a station can do by its cost at this level."""
    return group.servers / group.takes_s(level)


def _limits(level: LoadLevel) -> list[CapacityLimit]:
    """What fills first and second."""
    groups = sorted(groups_of(level), key=lambda group: most_per_s(level, group))
    return [
        CapacityLimit(name=group.name, busy_share=min(1.0, share_of(level, group)), most_per_s=most_per_s(level, group))
        for group in groups[:2]
    ]


def _limit(level: LoadLevel, limits: Sequence[CapacityLimit]) -> Message:
    """Return the limit in one sentence, which says so if the generator is the limit."""
    if not limits:
        return message("capacity_unknown")
    said = [message("capacity_station", **one.model_dump()) for one in limits]
    full = limits[0].busy_share >= FULL
    figures = {"users": level.users, "per_s": level.per_s, "full": full, "generator": limits[0].name == DRIVER}
    return message("capacity_limit", first=said[0], second=said[1] if len(said) > 1 else None, **figures)


def _refusal(levels: Sequence[LoadLevel], held: HeldOutResults | None) -> Message:
    if not groups_of(levels[-1]):
        return message("capacity_unknown")
    if _too_many(levels):
        return message("capacity_many_users", users=sum(level.users for level in levels), most=SOLVED_USERS_MAX)
    if held is None:
        return message("capacity_few_levels", levels=len(levels), least=LEVELS_MIN)
    worst = held.worst
    figures = {
        "users": worst.level.users,
        "measured_per_s": worst.level.per_s,
        "predicted_per_s": worst.predicted.per_s,
    }
    return message("capacity_model_fails", **figures, why=_likely_reason(levels, held))


def _likely_reason(levels: Sequence[LoadLevel], held: HeldOutResults) -> Message:
    """What the shape of the error says, with what was seen beside it."""
    last, best = levels[-1], max(levels, key=lambda level: level.per_s)
    load = typical_load(last.trials)
    if load is not None and load.pool > _WAITING:
        return message("capacity_why_connections", waiting_share=load.pool, connections=load.connections)
    if (starved := _starved(load) or _crowded_out(load, busiest_share(last))) is not None:
        return starved
    if last.per_s < best.per_s / _FLAT:
        return message("capacity_why_falls", users=best.users)
    before = max((one for one in levels if 1.5 * one.users <= last.users), key=lambda one: one.users, default=None)
    busy = busiest_share(last)
    if busy < _QUIET and before is not None and last.per_s < _FLAT * before.per_s:
        serial = message("capacity_why_serial", most_per_s=best.per_s, each_ns=_NS / best.per_s, busy_share=busy)
        return _seen(last.trials) or serial
    spread = max(level.spread for level in levels)
    if spread >= _NOISY * abs(held.worst.error):
        return message("capacity_why_noise", spread=spread)
    return message("capacity_why_unknown")


def _starved(load: TypicalLoad | None) -> Message | None:
    """The thread that waited longest for a CPU that others had."""
    needed = {} if load is None else load.needed
    name = max(needed, key=lambda part: needed[part].waited, default="")
    if not name or needed[name].waited < _STARVED or needed[name].needed < _WANTED:
        return None
    return message("capacity_why_neighbours", name=name, waited_share=needed[name].waited)


def _crowded_out(load: TypicalLoad | None, busy: float) -> Message | None:
    """Other programs on the servers' CPUs, where these and ours together filled them."""
    others = 0.0 if load is None or load.use is None else load.use.others + load.use.stolen
    if others < _OTHERS or busy < _OTHERS or others + busy < FULL:
        return None
    return message("capacity_why_others", taken_share=others)


def _seen(trials: Sequence[TrialRecord]) -> Message | None:
    """What lets no more through, where that was observed: a lock, a pool of an application, a line, a disk."""
    found = [one for one in stations_of(trials) if one.kind in _NO_CPU and (one.busy or 0.0) >= _QUIET]
    if not found:
        return None
    return message("capacity_why_station", station=found[0].kind, name=found[0].name, busy_share=found[0].busy)
