"""A queueing model of one condition, fitted on some numbers of users, and held to the others.

Each part is a station with the CPU time that it took for a request at each level; between levels this follows the
logarithm of the requests under way, since busy servers answer several for one waking up (demands that vary with the
load: Kattepur & Nambiar, Performance modeling of multi-tiered web applications with varying service demands, 2015).
Every load is an exact network of its own (see `network`). Two things are fitted:

- **The rest of the response time**, which no CPU accounts for: round trips, wake-ups, timers, disks. A delay, which a
  higher load may shorten and never lengthens. What grows with the users without any CPU, as the queue of a lock does,
  is thus not in the model: there it fails, and says so.
- **How evenly requests come**: between exponential times, as the theory has them, and none that wait for each other
  (the asymptotic bound), on a logarithmic scale. Both grow with the users and stay below the bounds, and so does this.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from loadstone.addons.capacity.model.load_levels import LoadLevel, PartLoad
from loadstone.addons.capacity.model.network import Network, QueueStation
from loadstone.judge.statistics.distributions import student_t_quantile

LEVELS_MIN = 4
"""Levels of users from which on a model is held to those that it was not fitted on: three of them, and what is below
the least one is never predicted."""
EVEN = (1.0, 0.75, 0.5, 0.25, 0.0)
"""Shares that are tried of the way from the bound (0) to exponential times (1)."""
ERROR_MAX, WORST_MAX = 0.10, 0.25
"""J: a model whose typical error on held-out levels is larger, or one of them, is none."""
FULL = 0.9
"""From this busy share on a station is the limit, and more users change nothing but their waiting."""
_SAME = 1e-4
_LEAST = 1e-6
_STEPS, _EXACT = 60, 1e-3
_NEAR = 0.05
"""J: a rate that is nearer to the measured one than that is the same."""


@dataclass(frozen=True)
class WhatIfChange:
    """What would be different; by default nothing."""

    cpus: Mapping[str, float] = field(default_factory=dict)
    """Part -> how many CPUs it has for itself."""
    instances: Mapping[str, float] = field(default_factory=dict)
    """Part -> so many times the processes that it has, each with as many CPUs."""
    cost: Mapping[str, float] = field(default_factory=dict)
    """Part -> its CPU time a request, as a factor."""
    think_s: float | None = None
    round_trip_s: float = 0.0
    """In addition to what stands in the response time already."""
    slower: float = 1.0
    """All that was measured takes so many times as long: how far a prediction may be off."""


@dataclass(frozen=True)
class Predicted:
    users: int
    per_s: float
    response_s: float
    busiest: str
    """The station that fills first at this load."""
    busy: float
    """Its busy share."""


@dataclass(frozen=True)
class StationGroup:
    """Parts that are one station."""

    parts: tuple[str, ...]
    servers: float

    @property
    def name(self) -> str:
        return " + ".join(self.parts)

    def takes_s(self, level: LoadLevel) -> float:
        """What a request takes of it. A thread that waits for its disk alone; beside others that is a delay."""
        parts = [level.parts[name] for name in self.parts]
        return sum(part.demand_s for part in parts) + (parts[0].disk_s if len(parts) == 1 else 0.0)


def groups_of(level: LoadLevel, change: WhatIfChange = WhatIfChange()) -> list[StationGroup]:
    """The stations of a level: a part each, but where several fill the CPUs of a place before one is full alone.

    A part that is given CPUs or instances has them for itself. Of one whose CPUs are not known nothing is a station:
    what it takes is in the rest of the response time.
    """
    given = {*change.cpus, *change.instances}
    known = {name: cpus for name, part in level.parts.items() if (cpus := cpus_of(name, part, change)) is not None}
    groups = [StationGroup((name,), cpus) for name, cpus in known.items() if name in given]
    for place in dict.fromkeys(part.place for part in level.parts.values()):
        there = {name: cpus for name, cpus in known.items() if name not in given and level.parts[name].place == place}
        groups += _of_place(level, there, level.cpus_of.get(place), change)
    return groups


def _of_place(
    level: LoadLevel, parts: Mapping[str, float], cpus: int | None, change: WhatIfChange
) -> list[StationGroup]:
    """`parts`: how many CPUs each can keep busy; `cpus`: how many there are."""
    takes = {name: level.parts[name].demand_s * change.cost.get(name, 1.0) for name in parts}
    alone = max(((takes[name] + level.parts[name].disk_s) / parts[name] for name in parts), default=0.0)
    if cpus and len(parts) > 1 and cpus < sum(parts.values()) and sum(takes.values()) / cpus > alone:
        return [StationGroup(tuple(parts), float(cpus))]
    return [StationGroup((name,), own) for name, own in parts.items()]


def cpus_of(name: str, part: PartLoad, change: WhatIfChange = WhatIfChange()) -> float | None:
    """Return how many CPUs a part can keep busy."""
    cpus = change.cpus.get(name, part.cpus)
    return None if cpus is None else cpus * change.instances.get(name, 1.0)


@dataclass(frozen=True)
class Model:
    """Fitted on some levels of one condition."""

    levels: tuple[LoadLevel, ...]
    """In the order of their users."""
    delays_s: tuple[float, ...]
    """The rest of the response time at each of them."""
    even: float
    """1: times are exponential; 0: no request waits before a station is full."""
    free: float
    """Share of a CPU that is left by interrupts and by what else runs there, as far as a full one showed it."""

    def predict(self, users: int, change: WhatIfChange = WhatIfChange()) -> Predicted:
        """What so many users would get. Iterates over the load, on which the costs depend."""
        top = self.levels[-1]
        think_s = top.think_s if change.think_s is None else change.think_s
        groups = groups_of(top, change)
        elsewhere_s = think_s + change.round_trip_s
        low, high = 0.0, float(users)
        network, per_s = self._at(high, users, groups, think_s, change)
        while elsewhere_s and high - low > _SAME * users:  # how many are under way gives a rate, and that so many again
            load = (low + high) / 2
            network, per_s = self._at(load, users, groups, think_s, change)
            low, high = (load, high) if users - per_s * elsewhere_s > load else (low, load)
        busiest = max(network.stations, key=lambda station: station.demand_s / station.servers)
        return Predicted(users, per_s, users / per_s - think_s, busiest.name, per_s / busiest.most_per_s)

    def _at(
        self, load: float, users: int, groups: Sequence[StationGroup], think_s: float, change: WhatIfChange
    ) -> tuple[Network, float]:
        """The network with the costs of so many requests under way, and its rate."""
        stations = tuple(
            QueueStation(group.name, self._takes_s(group, load, change), self.free * group.servers) for group in groups
        )
        delay_s = self._between(load, self.delays_s) * change.slower + change.round_trip_s
        network = Network(stations, delay_s, think_s, self.pool)
        return network, rate_of(network, users, self.even)

    def _takes_s(self, group: StationGroup, load: float, change: WhatIfChange) -> float:
        """Return the service time of a station under a load; see `StationGroup.takes_s`."""
        takes_s = sum(self._demand_s(part, load, change) for part in group.parts)
        if len(group.parts) == 1:
            disks = [level.parts[group.parts[0]].disk_s for level in self.levels]
            takes_s += self._between(load, disks) * change.slower
        return takes_s

    def _demand_s(self, part: str, load: float, change: WhatIfChange) -> float:
        measured = [level.parts[part].demand_s for level in self.levels]
        return self._between(load, measured) * change.cost.get(part, 1.0) * change.slower

    def _between(self, load: float, figures: Sequence[float]) -> float:
        """At a load, of figures at the levels; beyond them the nearest."""
        loads = [math.log(max(_LEAST, level.users - level.per_s * level.think_s)) for level in self.levels]
        order = np.argsort(loads)
        return float(np.interp(math.log(max(load, _LEAST)), np.array(loads)[order], np.array(figures)[order]))

    @property
    def pool(self) -> int | None:
        """Return how many requests the connections carry, where all users share them; None where each brings its
        own."""
        pools = {level.pool for level in self.levels}
        return pools.pop() if len(pools) == 1 else None

    @property
    def full(self) -> bool:
        """Whether a station was full at the most users."""
        return busiest_share(self.levels[-1]) >= FULL


def rate_of(network: Network, users: int, even: float) -> float:
    """Between the bound and what exponential times give."""
    bound = network.bound_per_s(users)
    return bound * (network.per_s(users) / bound) ** even if even else bound


def busiest_share(level: LoadLevel) -> float:
    """Return the share of the station that was busiest, by the utilisation law U = X D / m."""
    return max((share_of(level, group) for group in groups_of(level)), default=0.0)


def share_of(level: LoadLevel, group: StationGroup) -> float:
    return level.per_s * group.takes_s(level) / group.servers


def free_of(levels: Sequence[LoadLevel]) -> float:
    """The busy share of the fullest station where it was full; all of the CPU where none was."""
    most = max(map(busiest_share, levels))
    return min(1.0, most) if most >= FULL else 1.0


Rests = dict[tuple[int, float, float, float], float]
"""What was solved before for one condition: users and think time of a level, evenness and what is free -> its rest."""


def rest_s(level: LoadLevel, even: float, free: float, rests: Rests | None = None) -> float:
    """What a response takes beside the stations at a level by itself: so that the network gives its rate."""
    key = (level.users, level.think_s, even, free)
    known = {} if rests is None else rests
    if key not in known:
        known[key] = _solved_rest_s(level, even, free)
    return known[key]


def _solved_rest_s(level: LoadLevel, even: float, free: float) -> float:
    low, high = 0.0, level.users / level.per_s
    if _measured_by(level, 0.0, even, free) <= level.per_s:
        return 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        fast = _measured_by(level, middle, even, free) > level.per_s
        low, high = (middle, high) if fast else (low, middle)
        if high - low <= _EXACT * high:
            break
    return (low + high) / 2


def _measured_by(level: LoadLevel, delay_s: float, even: float, free: float) -> float:
    """The rate at a level with its own costs."""
    stations = tuple(QueueStation(group.name, group.takes_s(level), free * group.servers) for group in groups_of(level))
    pool = level.pool if level.users > level.pool else None
    return rate_of(Network(stations, delay_s, level.think_s, pool), level.users, even)


def _delays_s(levels: Sequence[LoadLevel], even: float, free: float, rests: Rests | None) -> list[float]:
    """The rest of the response time at each level. It stays what it was with fewer users where that gives the rate:
    where a CPU is full, hardly anything else shows."""
    delays = [rest_s(levels[0], even, free, rests)]
    for level in levels[1:]:
        same = abs(math.log(_measured_by(level, delays[-1], even, free) / level.per_s)) <= _NEAR
        delays.append(delays[-1] if same else min(delays[-1], rest_s(level, even, free, rests)))
    return delays


def fit(levels: Sequence[LoadLevel], rests: Rests | None = None) -> Model:
    """The model that fits these levels best; of the same fit the one with more exponential times.

    `rests` keeps what is solved for the next of the same condition.
    """
    free = free_of(levels)
    models = [Model(tuple(levels), tuple(_delays_s(levels, even, free, rests)), even, free) for even in EVEN]
    return min(models, key=lambda model: round(sum(error**2 for error in errors(model, levels)), 6))


def errors(model: Model, levels: Sequence[LoadLevel]) -> list[float]:
    """ln(measured / predicted) at these levels."""
    return [
        math.log(level.per_s / model.predict(level.users, WhatIfChange(think_s=level.think_s)).per_s)
        for level in levels
    ]


@dataclass(frozen=True)
class HeldOut:
    """A level, and what a model of the others predicts there."""

    level: LoadLevel
    predicted: Predicted

    @property
    def error(self) -> float:
        """ln(measured / predicted)."""
        return math.log(self.level.per_s / self.predicted.per_s)


@dataclass(frozen=True)
class HeldOutResults:
    """Errors of a model on levels that it did not know."""

    levels: tuple[HeldOut, ...]

    @property
    def typical(self) -> float:
        """Root of the mean square of the errors."""
        return math.sqrt(sum(one.error**2 for one in self.levels) / len(self.levels))

    @property
    def worst(self) -> HeldOut:
        return max(self.levels, key=lambda one: abs(one.error))

    @property
    def passed(self) -> bool:
        return self.typical <= ERROR_MAX and abs(self.worst.error) <= WORST_MAX

    @property
    def reach(self) -> float:
        """Half of the 95 % interval of another prediction, as a log ratio: by these errors, whose mean is none."""
        number = len(self.levels)
        return student_t_quantile(number, 0.975) * self.typical * math.sqrt(1 + 1 / number)


def hold_out(levels: Sequence[LoadLevel], rests: Rests | None = None) -> HeldOutResults | None:
    """Each level but the least predicted from all others; None of too few."""
    if len(levels) < LEVELS_MIN:
        return None
    known: Rests = {} if rests is None else rests
    return HeldOutResults(
        tuple(_predicted_by([*levels[:at], *levels[at + 1 :]], levels[at], known) for at in range(1, len(levels)))
    )


def _predicted_by(others: Sequence[LoadLevel], level: LoadLevel, rests: Rests) -> HeldOut:
    return HeldOut(level, fit(others, rests).predict(level.users, WhatIfChange(think_s=level.think_s)))
