"""What would decide a gate that is open: a longer budget, a longer warm-up, or neither.

By what was measured: how far the interval reaches after so many starts or rounds, and how long each of them took. An
interval narrows with the square root of their number.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from loadstone.addons.gate.result import GateFigure
from loadstone.addons.gate.rule import (
    GOOD,
    WITHIN_START_NOISE,
    deciding,
    loss_margin,
    losses_within_start_noise,
    probable_losses,
)
from loadstone.addons.gate.starts import starts_reach
from loadstone.experiment.plan.group import GroupDesign
from loadstone.experiment.plan.run_plan import WARM_BLOCK
from loadstone.experiment.spec.experiment import Experiment
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import Message, message
from loadstone.text.units import duration_s

NEAREST = 1 / 3
"""Least distance, as a share of the tolerance: a difference nearer to it is taken to lie so far from it, or no time
would suffice."""
WARMER_S = 120.0
"""How long each is to be warmed up at least where they still got faster."""
_MOVES = ("cost_moving", "verdict_still_rising", "verdict_still_moving")
"""Why a figure is open that more rounds of the same decide no sooner."""


@dataclass(frozen=True)
class BlockPace:
    """Progress of a comparison."""

    units: int
    """Starts, or rounds, that were measured."""
    looks: tuple[int, ...]
    """At how many of them it is judged."""
    unit_s: float
    """What each took."""

    def next_look(self, units: float) -> int | None:
        """The first look at so many units or more, beyond those that there are; None: there is none."""
        return next((look for look in self.looks if look >= units and look > self.units), None)


def paces_of(groups: Sequence[GroupDesign], trials: Sequence[TrialRecord]) -> dict[str, BlockPace]:
    """Return the pace of each group; one that was not begun is taken to get on like the one before."""
    paces: dict[str, BlockPace] = {}
    before = None
    for group in groups:
        pace = _pace_of(group, trials)
        if pace is None and before is not None:
            pace = replace(before, units=0, looks=_looks(group))
        if pace is not None:
            paces[group.name] = before = pace
    return paces


def _looks(group: GroupDesign) -> tuple[int, ...]:
    """In starts or in rounds."""
    rounds = group.rounds
    return group.looks if rounds is None or rounds.unit == "block" else tuple(map(rounds.upto, group.looks))


def _pace_of(group: GroupDesign, trials: Sequence[TrialRecord]) -> BlockPace | None:
    """Return the pace of a group by when its blocks began; None before its second block."""
    began: dict[int, float] = {}
    for trial in trials:
        if trial.group == group.name and trial.block != WARM_BLOCK:
            began[trial.block] = min(began.get(trial.block, math.inf), trial.started_unix_ns / 1e9)
    blocks = sorted(began)
    if len(blocks) < 2:
        return None
    block_s = median(began[later] - began[one] for one, later in pairwise(blocks))
    rounds = group.rounds
    if rounds is None or rounds.unit == "block":
        return BlockPace(len(blocks), _looks(group), block_s)
    return BlockPace(rounds.upto(len(blocks)), _looks(group), block_s / rounds.of(blocks[0]))


def with_needs(figure: GateFigure, pace: BlockPace | None, elapsed_s: float, budget_s: float) -> GateFigure:
    """An open figure with how many starts or rounds would probably decide it, and the budget for them.

    Without them where it is not time that lacks: it still moved, or something else keeps it open and time was there.
    """
    if figure.verdict != "undecided" or pace is None or _is_open_by(figure, (*_MOVES, WITHIN_START_NOISE)):
        return figure
    look = pace.next_look(_units(figure, pace))
    if look is None:
        return figure
    needed_s = elapsed_s + (look - pace.units) * pace.unit_s
    if needed_s <= budget_s and figure.why is not None:
        return figure
    needed_s = max(needed_s, budget_s + pace.unit_s)
    return figure.model_copy(update={"needed": look, "needed_s": round(needed_s, 1)})


def _is_open_by(figure: GateFigure, kinds: Sequence[str]) -> bool:
    """Whether one of these is why it is open."""
    return figure.why is not None and figure.why.kind in kinds


def runs_already(experiment: Experiment) -> bool:
    """Whether the versions of a gate are processes of the user's, at URLs."""
    return any("url" in one for one in experiment.servers.values()) or any(
        one.url is not None for one in experiment.subjects.values()
    )


def advice(
    figures: Sequence[GateFigure], pace: BlockPace | None, experiment: Experiment, budget_s: float, starts_differ: float
) -> Message | None:
    """What helps most where the gate is open; None where nothing is known of that.

    `starts_differ`: what starts of one version are taken to differ by, a share; 0: they were measured.
    """
    good = any(one.verdict in GOOD for one in deciding(figures))
    open_ = probable_losses(figures) if good else [one for one in deciding(figures) if one.verdict == "undecided"]
    running = runs_already(experiment)
    if any(_is_open_by(one, _MOVES) for one in open_):
        if running:
            return message("gate_advice_warm_before")
        warmed_s = max((duration_s(one.warm_up) for one in experiment.subjects.values() if one.warm_up), default=0.0)
        warmer_s = max(WARMER_S, 2 * warmed_s)
        return message("gate_advice_warm", warm_up_s=warmer_s, budget_s=budget_s + 2 * (warmer_s - warmed_s))
    way = "start both" if running else "start again" if experiment.subjects else ""
    if losses_within_start_noise(open_):
        return message("gate_advice_starts", differ=starts_differ, way=way)
    if not open_:
        return None
    nearest = min(open_, key=lambda one: math.inf if one.needed_s is None else one.needed_s)
    longer_s = nearest.needed_s
    if longer_s is not None and pace is not None:
        each = "round" if nearest.unit_of_units == "round" else "start"
        return message(
            "gate_advice_budget",
            units=pace.units,
            needed=nearest.needed,
            unit=each,
            unit_s=pace.unit_s,
            budget_s=longer_s,
        )
    visible = min((one.visible for one in open_ if one.visible is not None), default=None)
    if visible is None:
        return None
    if any(_is_wide_by_starts(one, starts_differ) for one in open_):
        return message("gate_advice_starts", differ=starts_differ, way=way)
    return message("gate_advice_noise", visible=visible)


def _is_wide_by_starts(figure: GateFigure, starts_differ: float) -> bool:
    """Whether what starts differ by hides more than what was measured does."""
    half = _half(figure)
    return half is not None and starts_reach(starts_differ, figure.interval_level) > half


def _units(figure: GateFigure, pace: BlockPace) -> float:
    """Return how many units would probably decide a figure; the first look where it has no interval yet."""
    half = _half(figure)
    if half is None:
        return pace.looks[0]
    return pace.units * (half / _distance(figure)) ** 2


def _half(figure: GateFigure) -> float | None:
    """Return how far the interval reaches to a side, as a log ratio."""
    if figure.low is None or figure.high is None:
        return None
    return math.log(figure.high / figure.low) / 2


def _distance(figure: GateFigure) -> float:
    """Return how far the difference lies from the tolerance, as a log ratio: within that the interval must end."""
    tolerance = loss_margin(figure.tolerance, larger_is_faster=figure.is_rate)
    slower = 0.0 if figure.ratio is None else math.log(figure.ratio) * (-1 if figure.is_rate else 1)
    return max(abs(tolerance - slower), NEAREST * tolerance)
