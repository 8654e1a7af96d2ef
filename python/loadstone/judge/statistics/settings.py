"""What a comparison is judged by."""

import math
from dataclasses import dataclass
from typing import Literal

from loadstone.experiment.plan.look_schedule import BLOCKS_MIN, LOOK_ALPHA, ROUNDS_MIN, next_look, next_round_look
from loadstone.experiment.spec.experiment import COST_MARGIN, RATE_MARGIN
from loadstone.judge.statistics.rounds.round_interval import stretch_of
from loadstone.judge.statistics.signed_rank import fewest_blocks


@dataclass(frozen=True)
class Settings:
    """One comparison of conditions A and B.

    `alpha` is the level of one look for all `pairs` declared comparisons together;
    `conditions` run in each block, each for `trial_s` after `overhead_s` of set-up and warm-up.
    `margin` is a share: 0.05 means that less than 5 % is of no matter.
    """

    metric: str = ""
    larger_is_faster: bool = True
    margin: float = RATE_MARGIN
    alpha: float = LOOK_ALPHA
    pairs: int = 1
    conditions: int = 2
    trial_s: float = 15.0
    overhead_s: float = 5.0
    budget_minutes: float | None = None
    names: tuple[str, str] = ("A", "B")
    quick: bool = False
    unit: Literal["block", "round"] = "block"
    """What is counted: blocks (of whole trials, or of rounds on servers that were started for them), or rounds of
    slices (then `trial_s` is the length of a slice)."""
    started_once: bool = False
    """Whether A and B are processes of their own that were started once, so that it is those which are compared."""
    gains: tuple[float, float] = (0.0, 0.0)
    """Shares by which A and B would do more at most with a generator that costs nothing."""

    cost_margin: float = COST_MARGIN
    """A smaller difference in what a request costs does not matter."""
    compares_runs: bool = True
    """Whether the verdict is to hold in the next run, too; else it is of the two sides here and now, at a level of its
    own, and what runs differ by is no matter."""
    rate_per_s: float | None = None
    """At which both were driven, where the comparison has a rate of its own."""

    @property
    def widening(self) -> tuple[float, float]:
        """The gains by which the interval is widened: those of a rate; a latency is no matter of them."""
        return self.gains if self.larger_is_faster else (0.0, 0.0)

    @property
    def interval_alpha(self) -> float:
        """Level of each interval: alpha / m (Bonferroni), so that all hold together."""
        return self.alpha / self.pairs

    @property
    def blocks_min(self) -> int:
        """The fewest blocks (or rounds) that get an interval at this level."""
        return max(BLOCKS_MIN if self.unit == "block" else ROUNDS_MIN, fewest_blocks(self.interval_alpha))

    def next_look(self, blocks: int) -> int | None:
        """The first look beyond so many blocks (or rounds); None after the last one."""
        return next_look(blocks, self.pairs) if self.unit == "block" else next_round_look(blocks)

    def stretch(self, blocks: int) -> float:
        """Return how much wider an interval is than the spread of so many blocks (or rounds) makes it."""
        return 1.0 if self.unit == "block" else stretch_of(blocks)

    @property
    def log_margin(self) -> float:
        """The margin as a log ratio: ln(1 + m)."""
        return math.log1p(self.margin)

    @property
    def block_minutes(self) -> float:
        """Minutes that one more block (or round) takes: K (L + w) / 60."""
        return self.conditions * (self.trial_s + self.overhead_s) / 60
