"""Rounds of slices: how often conditions that are all up take turns, and for how long each time.

A round is each condition of a group once, for one slice, in fresh random order. The machine's slow noise is the same
for both slices of a pair, so that their ratio is free of it. Source: randomised multiple interleaved trials (Abedi and
Brecht 2017); figures in docs/proofs.md.
Last, how long a trial should be where whole trials are measured.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

from loadstone.experiment.plan.look_schedule import looks, rounds_of_blocks

SLICE_S = 0.1
"""Slice of a server alone. Half as long brings nothing: setting up takes half of the time then."""
SETTLE_S = 0.015
"""The first part of a slice, which is not measured: caches are warmed, queues fill."""
APPLICATION_SLICE_S, APPLICATION_SETTLE_S = 1.2, 0.2
"""Slice and settle time of an application: its collections and timers, which go on when its turn comes, are to fit into
a slice."""
SHORTEST_SLICE_S, SHORTEST_APPLICATION_SLICE_S = 0.05, 0.4
"""Where the budget has no room for the first looks otherwise. What then reaches from one slice into the next is found
by the looks, and answered by longer slices as anywhere."""
LONGER_TIMES = 4
"""Where something reaches from one slice into the next, they get so many times as long."""
LONGEST_SLICE_S = 1.6
"""What reaches into a slice even then is for whole trials."""
LONGEST_SETTLE_S = 0.1
"""The settle time grows with the slices, up to this."""
BETWEEN_S = 0.002
"""What is taken to pass between two slices: the last replies come in, clocks are read, threads are woken."""
OPENING_S = 0.25
"""What a block is taken to cost for each condition beside its slices: its data is stored, its connections opened. In
the recorded runs of `tests/examples/frozen` it was .02 to .42 s, and .3 to .7 s a block however many conditions it had;
storing many keys comes on top (`experiment.plan.run_plan.keys_s`)."""
RESTART_S = 0.25
"""What starting a condition's servers again is taken to add to that: both together were .23 to .49 s."""
EXPECTED_SPREAD = 0.1
"""Standard deviation of a round's ln(B / A) before anything was measured: .07 to .14 on quiet and on busy machines."""
WARM_ROUNDS, WARM_ROUNDS_MIN, WARM_S = 8, 2, 0.8
"""Rounds of block 0: as many as take each condition so long, not fewer than the least and not more than the most."""
TABLE_ROUNDS = 12
"""The fewest slices of a row in a run: where rows are measured for a short time, slices are shorter."""
LONE_ROUNDS, LONE_SLICE_S = 24, 0.5
"""Fewest slices of a row that is measured alone, and the longest of its slices: rests between them come once a
second."""
TABLE_SLICE_MIN_S, TABLE_SETTLE_S = 0.03, 0.006
TABLE_WARM_UP_S = 0.03
"""Warm-up of each row, before the first round of a block: all of its connections have been used, and its keys are
there."""
TABLE_OPENING_S = 0.12
"""What a block is taken to cost for each row beside its slices: many of them share what is read of their servers. It
was .08 s on a calm machine, .35 s on one that others kept busy."""
TABLE_INTERVALS = 4
"""Into how many intervals the figures of a row's block are divided."""
LATENCY_GROUPS = 16
"""A quantile is compared by groups of rounds, each with one histogram: about so many in each block."""
FIXED_ROUNDS = 16
"""Rounds of a block where the number of blocks is fixed beforehand."""
ROUNDS_A_START = 8
"""Rounds of a block for which servers are started again. A start costs as long as so many rounds, and its own variation
(2 % measured) is then about as large as what is left of the rounds': so blocks of 8 tell most in their time."""
ROUNDS_AN_APPLICATION, WARM_START_S, OPENING_START_S = 4, 0.2, 0.2
"""Rounds of a start, warm-up and opening time of an application that starts within a second."""
EXPECTED_SPREAD_A_START = 0.05
"""Standard deviation of such a block's ln(B / A): sqrt(2 x .02^2 + .1^2 / 8)."""
Processes = Literal["shared", "restarted", "once"]
"""What stands behind the conditions of a group. shared: the same servers. restarted: servers of their own, which start
again for each block, so that a block is the unit of replication. once: processes of their own, started once."""
_ROUNDING = 1e-9
TRIAL_MIN_S, TRIAL_MAX_S = 3.0, 60.0
SHORTEST_TRIAL_S = 0.7
"""Shortest length of a compared trial, where the budget has no room for longer ones."""
INTERVAL_SD = 0.05
INTERVAL_CORRELATION = 0.6
TRIAL_SD = 0.03
"""The noise taken for granted before anything was measured: that of the simulations' middle scenario."""
TRIAL_OVERHEAD_S = 0.6
"""What a trial is taken to cost beside its phases: loading and removing its data, the monitors' start, its record,
and its share of measuring the driver's ceiling. Measured on a machine of 2 cores: .1 s where nothing is to be loaded,
.6 s with large documents while others use the machine."""


@dataclass(frozen=True)
class Rounds:
    """The rounds of a group's blocks."""

    blocks: tuple[int, ...]
    """How many rounds each block has, from block 1 on: up to the next look."""
    slice_s: float = SLICE_S
    settle_s: float = SETTLE_S
    warm_up_s: float = 0.0
    """A slice for each condition before the first round of every block, in which nothing is measured."""
    processes: Processes = "shared"
    opening_each_s: float = OPENING_S
    """What a block is taken to cost for each condition beside its slices."""

    @property
    def unit(self) -> Literal["block", "round"]:
        """What gives one ratio of a pair: a start differs from the next one, and all rounds of it alike."""
        return "block" if self.processes == "restarted" else "round"

    def of(self, block: int) -> int:
        """The rounds of one block; block 0 warms the machine up."""
        if block == 0:
            return min(WARM_ROUNDS, max(WARM_ROUNDS_MIN, round(WARM_S / self.slice_s)))
        return self.blocks[block - 1]

    def upto(self, blocks: int) -> int:
        """The rounds of so many blocks together, those of block 0 not counted."""
        return sum(self.blocks[:blocks])

    def block_s(self, block: int, conditions: int) -> float:
        """Seconds that a block of so many conditions is expected to take."""
        return self.seconds(self.of(block), conditions)

    def seconds(self, rounds: int, conditions: int) -> float:
        """Seconds that so many rounds in one block are expected to take."""
        return self.slices_s(rounds, conditions) + self.opening_s(conditions)

    def opening_s(self, conditions: int) -> float:
        """The part of that before the first slice."""
        each_s = self.opening_each_s + self.warm_up_s + (RESTART_S if self.processes == "restarted" else 0.0)
        return conditions * each_s

    def slices_s(self, rounds: int, conditions: int) -> float:
        """The part of that from the first slice to the last."""
        return conditions * rounds * (self.slice_s + BETWEEN_S)

    def within(self, seconds: float, block: int, conditions: int) -> int:
        """Return how many of a block's rounds there is time for; 0 if for none."""
        of_one_s = self.slices_s(1, conditions)
        return max(0, min(self.of(block), int((seconds - self.opening_s(conditions)) / of_one_s)))

    def shortened(self, block: int, rounds: int) -> "Rounds":
        """With so many rounds in that block."""
        return replace(self, blocks=(*self.blocks[: block - 1], rounds, *self.blocks[block:]))

    @property
    def mean_measured_s(self) -> float:
        """Seconds of a block in which a condition is measured, on average."""
        return round(self.measured_s * sum(self.blocks) / len(self.blocks), 3)

    @property
    def mean_overhead_s(self) -> float:
        """What the first block takes for a condition in addition."""
        return round(self.block_s(1, 1) - self.measured_s * self.of(1), 3)

    def latency_interval_s(self, block: int) -> float:
        """Return the length, in measured seconds, of an interval of a block where latencies are compared by its
        histograms.

        Half a slice less than whole slices: it ends with the slice in which it is reached.
        """
        return (max(1, self.of(block) // LATENCY_GROUPS) - 0.5) * self.measured_s

    @property
    def interval_of_a_slice_s(self) -> float:
        """Return the recording interval, in measured seconds, at which each interval covers exactly one slice. It is
        half a slice's measured time, because an interval ends with the slice in which its length is reached."""
        return round(0.5 * self.measured_s, 6)

    @property
    def measured_s(self) -> float:
        """Seconds of a slice that are measured."""
        return self.slice_s - self.settle_s

    def longer(self) -> "Rounds | None":
        """Return the rounds with longer slices; None where these are as long as slices get."""
        slice_s = self.slice_s * LONGER_TIMES
        if slice_s > LONGEST_SLICE_S * (1 + _ROUNDING):
            return None
        settle_s = max(self.settle_s, min(self.settle_s * LONGER_TIMES, LONGEST_SETTLE_S))
        return replace(self, slice_s=round(slice_s, 6), settle_s=round(settle_s, 6))


def sequential_rounds(
    slice_s: float, *, settle_s: float, processes: Processes = "shared", pairs: int = 1, early: bool = True
) -> Rounds:
    """Blocks that end at the looks; where servers are started again, as many alike as the last look of blocks has.

    `early`: whether there are looks at few rounds (`experiment.plan.look_schedule.ROUND_LOOKS`).
    """
    blocks = (ROUNDS_A_START,) * looks(pairs)[-1] if processes == "restarted" else rounds_of_blocks(early)
    return Rounds(blocks, slice_s, settle_s, processes=processes)


def rounds_of_starts(blocks: int, slice_s: float, *, settle_s: float, of_latency: bool = False) -> Rounds:
    """Return blocks of few rounds, on applications that are started for each of them.

    Latencies are measured in twice as many slices of half the length: a stall spoils fewer of them.
    """
    finer = 2 if of_latency else 1
    return Rounds(
        (finer * ROUNDS_AN_APPLICATION,) * blocks,
        slice_s / finer,
        settle_s / finer,
        warm_up_s=WARM_START_S,
        processes="restarted",
        opening_each_s=OPENING_START_S,
    )


def fixed_rounds(blocks: int, slice_s: float, *, settle_s: float, processes: Processes = "shared") -> Rounds:
    """Return `blocks` blocks that are alike."""
    return Rounds((FIXED_ROUNDS,) * blocks, slice_s, settle_s, processes=processes)


def table_rounds(blocks: int, measure_s: float, slice_s: float | None, rows: int = 2) -> Rounds:
    """Return `blocks` blocks, in each of which a row is measured for about `measure_s`.

    Slices are shorter than usual where a row would have too few of them; `slice_s` is their length where it is given.
    Those of one row alone may be longer, since nothing else has its turn meanwhile.
    """
    if slice_s is None and rows == 1:
        return _lone_rounds(blocks, measure_s)
    if slice_s is None:
        slice_s = min(SLICE_S, max(TABLE_SLICE_MIN_S, blocks * measure_s / TABLE_ROUNDS + TABLE_SETTLE_S))
    settle_s = min(SETTLE_S if slice_s >= SLICE_S else TABLE_SETTLE_S, slice_s / 4)
    rounds = max(-(-TABLE_ROUNDS // blocks), round(measure_s / (slice_s - settle_s)))
    return Rounds(
        (rounds,) * blocks,
        round(slice_s, 3),
        settle_s,
        TABLE_WARM_UP_S,
        opening_each_s=TABLE_OPENING_S,
    )


def _lone_rounds(blocks: int, measure_s: float) -> Rounds:
    """Return the rounds of a row alone, which is measured for just as long as was requested: its quantiles need so many
    operations."""
    most = max(1, int(measure_s / (TABLE_SLICE_MIN_S - TABLE_SETTLE_S)))
    number = min(most, max(-(-LONE_ROUNDS // blocks), math.ceil(measure_s / LONE_SLICE_S - _ROUNDING)))
    measured_s = measure_s / number
    settle_s = SETTLE_S if measured_s >= SLICE_S - SETTLE_S else TABLE_SETTLE_S
    slice_s = round(measured_s + settle_s, 6)
    return Rounds((number,) * blocks, slice_s, settle_s, opening_each_s=TABLE_OPENING_S)


def unit_of(rounds: Rounds | None) -> Literal["block", "round"]:
    """What gives one ratio of a pair in a group; None: it is measured trial after trial."""
    return "block" if rounds is None else rounds.unit


def trial_length_s(
    overhead_s: float,
    interval_sd: float = INTERVAL_SD,
    interval_correlation: float = INTERVAL_CORRELATION,
    trial_sd: float = TRIAL_SD,
) -> float:
    """L* = sqrt(w V) / sigma_u, V = sigma_e^2 (1 + rho) / (1 - rho), within 3 to 60 s.

    `overhead_s` (w) is what each trial takes beside its measure phase: warm-up, loading, drain. The relative
    standard deviation of one-second intervals is `interval_sd`, their autocorrelation `interval_correlation`,
    and `trial_sd` is what differs from trial to trial however long. A driver that starts in a tenth of a second
    makes short trials the better ones: with w = 1 s the rule gives 3.3 s, with w = 5 s 7.5 s, with w = 30 s 18 s.
    """
    variance = _variance(interval_sd, interval_correlation)
    required = math.sqrt(overhead_s * variance) / trial_sd if trial_sd > 0 else TRIAL_MAX_S
    return min(max(required, TRIAL_MIN_S), TRIAL_MAX_S)


def expected_spread(trial_s: float) -> float:
    """Standard deviation of one block's ln(B / A) before anything was measured: sqrt(2 (sigma_u^2 + v(L))).

    v(L) is the variance of the mean of `trial_s` seconds (L). In long trials it is V / L. The seconds of a short one
    are nearly one and the same, and V / L would be too much: v = V / L (1 - (1 - exp(-x)) / x) with x = -L ln(rho),
    for a process whose correlation falls exponentially. So 15 s give 5.4 %, 3 s 7.1 % and .7 s 8.0 % (and not 17 %).
    """
    long = _variance(INTERVAL_SD, INTERVAL_CORRELATION) / trial_s
    x = -trial_s * math.log(INTERVAL_CORRELATION)
    return math.sqrt(2 * (TRIAL_SD**2 + long * (1 + math.expm1(-x) / x)))


def _variance(interval_sd: float, interval_correlation: float) -> float:
    """V: the variance of a trial's mean, times its length in seconds."""
    return interval_sd**2 * (1 + interval_correlation) / (1 - interval_correlation)
