"""What a verdict is as data: one metric of a pair, its two sides, its blocks, and what bounds its figures."""

import math
from collections.abc import Mapping
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict

from loadstone.experiment.spec.experiment import COST as COST
from loadstone.experiment.spec.levels import Condition
from loadstone.judge.metrics import is_rate
from loadstone.judge.statistics.drift_guard import EQUIVALENCE_BLOCKS
from loadstone.run_folder.facts import DRIVER
from loadstone.run_folder.look import LookVerdict
from loadstone.run_folder.look import VerdictKind as VerdictKind
from loadstone.run_folder.trial import CheckResult
from loadstone.text.message import Message, message


class AnalysisModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


UNBOUNDED = 10.0
"""A bound from here on is none: eleven times the figure."""


def up_to(share: float) -> Message:
    """Return how much higher a rate could be, or that nothing is known of that."""
    return message("check.no_bound") if share >= UNBOUNDED else message("check.up_to", share=share)


class GeneratorBound(AnalysisModel):
    """Bound of how much more a condition would do if nothing had disturbed it, as shares of its figure.

    0.04: up to 4 % more. `UNBOUNDED` and beyond: nothing is known of the limit. None: it could not be observed.
    """

    generator: float | None
    """With a generator that costs nothing (the gain rule)."""
    taken: float | None
    """If nothing else had taken time from its CPUs: neighbours on the host, other programs here."""
    round_trip: bool = False
    """One user: the figure is the round trip of this client, no capacity, and not judged by the gain."""

    @property
    def total(self) -> float:
        """Both together; what is not known counts as nothing."""
        return (1 + (self.generator or 0.0)) * (1 + (self.taken or 0.0)) - 1

    @property
    def printed(self) -> float:
        """The one that stands beside the figure. A round trip of one user is not limited by the generator."""
        return self.taken or 0.0 if self.round_trip else self.total

    @property
    def said(self) -> Message:
        """Return how much higher the rate could be, or that nothing is known of that."""
        return up_to(round(self.printed, 6))

    def put_into(self, reason: Message) -> Message:
        """The reason of one trial with this bound, beside which it stands: a figure has one bound."""
        figures = reason.figures
        if isinstance(inner := figures.get("reason"), Message):
            return reason.with_figures(reason=self.put_into(inner))
        if "bound" not in figures:
            return reason
        return reason.with_figures(bound=self.said)


class CpuCost(AnalysisModel):
    """CPU time of a part for one correct reply, in nanoseconds, and its 95 % interval; None from too few slices."""

    ns: float
    low_ns: float | None = None
    high_ns: float | None = None
    main_ns: float | None = None
    """Main thread's part of `ns`, for a part that works in one thread; the rest is by its other threads."""
    system_ns: float | None = None
    """Kernel part of `ns`, in nanoseconds a reply; the rest is user time."""
    children_ns: float | None = None
    """CPU time of processes that the part started; where conditions took turns it stands beside `ns`, and not in it."""


def cost_of_all(costs: Mapping[str, CpuCost]) -> CpuCost | None:
    """What a request costs all parts together; the interval where there is one part."""
    if len(costs) == 1:
        return next(iter(costs.values()))
    return CpuCost(ns=sum(cost.ns for cost in costs.values())) if costs else None


def cost_of_part(costs: Mapping[str, CpuCost], part: str) -> CpuCost | None:
    """What a request costs a part, by its name; reports call the program that makes the load the client."""
    return costs.get(part, costs.get(DRIVER) if part == "client" else None)


Requests = Literal["all", "quiet", "typical"]
"""Requests that a quantile is of. all: of all together. quiet: of each block's, without the quarter of its slices in
which it is highest. typical: of those of a few rounds each, of which the typical ones count."""

DECIDED: frozenset[VerdictKind] = frozenset({"faster", "equivalent", "mixed"})
"""Verdicts that answer a question: others say that this run cannot."""


OPEN: frozenset[VerdictKind] = frozenset({"undecided", "not_decidable"})
"""Verdicts that leave it open which side is better."""


class Side(AnalysisModel):
    """One of the two conditions of a comparison."""

    condition: Condition = {}
    name: str
    """Level by which the sides differ, e.g. `json`: the sentence of the verdict calls it that."""
    typical: float | None = None
    """Figure of its row in the tables, in the metric's unit. Where no row has one, the median of its blocks' figures (a
    quantile: that of all blocks merged)."""
    gain: float = 0.0
    """Amount by which the interval was widened on this side: what a generator that costs nothing would gain at most."""


class BlockPoint(AnalysisModel):
    """One block of a comparison."""

    block: int
    trial_a: str
    trial_b: str
    a: float | None
    b: float | None
    """Figures of the metric; None where the trial gives none."""
    log_ratio: float | None
    """ln(b / a)."""
    used: bool
    why: Message | None = None
    """Why the block is not used; None when it is."""


class Verdict(AnalysisModel):
    """What may be said of conditions A and B by one metric, and what it rests on.

    Ratios are ln(B / A). None: not known from the data; or infinite, where only a part of an interval and its estimate
    is None: a quantile falls among the failures.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)
    """Reports for programs put the sentence beside a verdict, as `text`: it is not read back."""

    kind: VerdictKind
    a: Side
    b: Side
    metric: str = ""
    larger_is_faster: bool
    role: Literal["primary", "cost", "exploratory"] = "primary"
    margin: float
    """A share: 0.05 means that less than 5 % does not matter."""
    winner: Literal["a", "b"] | None = None
    """The faster one; for `mixed` the one that is typically faster."""
    materially: bool = False
    negligible: bool = False
    """Equivalent, and yet the difference is real."""
    unit: Literal["block", "round"] = "block"
    """What is counted: blocks of whole trials, or rounds of slices."""
    blocks: int
    """Blocks (or rounds) used."""
    blocks_min: int
    """The fewest of them that give an interval at this level."""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    """Level of the interval: 0.95 holds 95 times in 100."""
    p_value: float | None = None
    stalls_a: int = 0
    stalls_b: int = 0
    total: float | None = None
    """ln of the ratio of the totals over all blocks."""
    detectable: float | None = None
    """Minimum detectable effect: the log ratio that so many blocks show 8 times in 10."""
    pairing: float | None = None
    """For rounds, the spread of a pair's ratio over sqrt(2) times that of a slice; below 1 taking turns helped."""
    more_minutes: float | None = None
    """Estimate of the time still needed; printed as half to twice of it."""
    noise_floor: float | None = None
    """The log ratio that the whole budget would show 8 times in 10."""
    hidden: bool = False
    """Not decidable because of what a generator that costs nothing might gain, however many blocks there are."""
    refusal: CheckResult | None = None
    """The check that forbids a verdict, of `invalid`."""
    carried: Message | None = None
    """For `undecided`, what reached from one slice into the next, and by how much; then there is no ratio."""
    doubted: bool = False
    """True for an `undecided` verdict if there would be a difference, but slices after another condition's may explain
    it."""
    unsteady: Message | None = None
    """For `undecided`, why a difference of processes that were started once is one of the moment, and what decides."""
    decided_before: Message | None = None
    """For what is open at the end, what a look during the run had decided, and why it does not stand."""
    quick: bool = False
    """True if the run was shortened with `--quick`."""
    rate_per_s: float | None = None
    """At which both were driven, where the comparison has a rate of its own and not the experiment's load."""
    started_once: bool = False
    """True if the processes were started once, each its own: another start of them may differ."""
    across: bool = False
    """True for two runs that differ in more than their time (`--across`)."""
    points: list[BlockPoint] = []
    """Empty for exploratory metrics: the primary one shows the same trials."""

    @property
    def winner_name(self) -> str:
        """What the faster side is called; empty where none is."""
        return "" if self.winner is None else self.a.name if self.winner == "a" else self.b.name

    @property
    def excludes_none(self) -> bool:
        """Whether the difference was shown to be real, so that an end of exactly nothing is beside it and not on it.

        Differences that are decided step by step (Holm) may have their interval cut there.
        """
        taken = self.unsteady is not None and self.unsteady.kind == "verdict_others_had_cpus"
        return self.kind in ("faster", "mixed") or self.negligible or taken

    @property
    def log_margin(self) -> float:
        """The margin as a log ratio: ln(1 + m)."""
        return math.log1p(self.margin)

    @property
    def message(self) -> Message:
        """The whole verdict."""
        return message("verdict", said=self.said, across=self.across, quick=self.quick)

    @property
    def said(self) -> Message:
        """The verdict without the remarks on the run that it is from.

        That its processes were started once is part of it: another start may well have given another one.
        """
        said = self._at_rate(self._whole())
        if self.decided_before is not None:
            return message("verdict_decided_before", said=said, before=self.decided_before)
        once = self.started_once and self.kind in DECIDED
        return message("verdict_started_once", said=said) if once else said

    @property
    def brief(self) -> Message:
        """Return the verdict without what only its own place has room for: the time that is still needed, the total."""
        if self.metric.startswith(COST):
            return self._of_cost()
        match self.kind:
            case "equivalent":
                found = message("verdict_equivalent", **self._equivalent(), ratio=None)
            case "mixed":
                found = message("verdict_mixed_brief", larger_is_faster=self.larger_is_faster)
            case "undecided":
                found = message("verdict_undecided", found=self._found(), remarks=[])
            case "not_decidable" if self.hidden:
                found = message("verdict_hidden", ratio=self._ratio(), most=None)
            case _:
                found = self._whole()
        return self._at_rate(found)

    def _at_rate(self, said: Message) -> Message:
        return said if self.rate_per_s is None else message("verdict_at_rate", said=said, rate_per_s=self.rate_per_s)

    def _whole(self) -> Message:
        if self.metric.startswith(COST):
            return self._of_cost()
        match self.kind:
            case "equivalent":
                return message("verdict_equivalent", **self._equivalent(), ratio=self._ratio())
            case "faster":
                return message("verdict_faster", a=self.a.name, **self._towards_b(), materially=self.materially)
            case "mixed":
                return message("verdict_mixed", **self._towards_b(), total=self.total)
            case "undecided":
                return message("verdict_undecided", found=self._found(), remarks=self._remarks())
            case "not_decidable" if self.hidden:
                return message("verdict_hidden", ratio=self._ratio(), most=math.log1p(max(self.a.gain, self.b.gain)))
            case "not_decidable":
                return message("verdict_not_decidable", noise_floor=self.noise_floor)
            case "invalid":
                return self._refused()

    def _of_cost(self) -> Message:
        """Say by what B uses less or more, or both ends where neither side is known to use less."""
        part = self.metric.removeprefix(COST)
        if self.kind == "faster":
            figures = {"estimate": self.estimate, "low": self.low, "high": self.high}
            return message("cost_differs", b=self.b.name, part=part, **figures)
        if self.kind == "equivalent":
            return message("cost_equivalent", part=part, margin=self.log_margin)
        why = {} if self.unsteady is None else {"why": self.unsteady}
        return message("cost_open", part=part, ratio=None if self.low is None else self._ratio(), **why)

    def left_to(self, dearest: "Verdict | None") -> "Verdict | None":
        """The verdict by cost of the dearest part, where it answers the question and this one of a rate is open."""
        answers = dearest is not None and dearest.kind in DECIDED
        return dearest if answers and self.kind in OPEN and is_rate(self.metric) else None

    def after_look(self, look: LookVerdict, number: int | None) -> Self:
        """The verdict with what a look during the run had decided, where that is open at the end; else as it is.

        `number`: of the look's blocks or rounds; None of slices that were made longer since.
        """
        if self.kind not in OPEN or look.kind not in DECIDED:
            return self
        figures = {"kind": look.kind, "winner": look.winner, "materially": False, "carried": None}
        ends = {"estimate": look.estimate, "low": look.low, "high": look.high}
        then = self.model_copy(update={**figures, **ends})
        why = bool(self._objections()) or self.carried is not None
        before = message("verdict_then", then=then._whole(), number=number, unit=self.unit, reasoned=why)
        return self.model_copy(update={"decided_before": before})

    def of_look(self) -> LookVerdict:
        """What a line of `looks.jsonl` keeps of it."""
        return LookVerdict(
            kind=self.kind,
            winner=self.winner,
            estimate=self.estimate,
            low=self.low,
            high=self.high,
            check=self.refusal.name if self.refusal else "" if self.carried is None else "carry_over",
        )

    def _refused(self) -> Message:
        check = self.refusal
        if check is None:
            return message("verdict_invalid_for", check=None, reason=None)
        if check.measured is None or check.limit is None:
            return message("verdict_invalid_for", check=check.name, reason=check.reason)
        return message("verdict_invalid", check=check.name, measured=check.measured, limit=check.limit, unit=check.unit)

    def _equivalent(self) -> dict[str, float | bool]:
        return {"margin": self.log_margin, "negligible": self.negligible}

    def _towards_b(self) -> dict[str, object]:
        """Return who is faster, and what B has of A."""
        return {
            "b": self.b.name,
            "b_wins": self.winner == "b",
            "larger_is_faster": self.larger_is_faster,
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
        }

    def _ratio(self) -> Message:
        """B against A."""
        beside = {"excludes_none": True} if self.excludes_none else {}
        return message("verdict_ratio", estimate=self.estimate, low=self.low, high=self.high, **beside)

    def _found(self) -> Message:
        """What an undecided comparison has so far."""
        if self.carried is not None:
            return self.carried
        if self.blocks < self.blocks_min:
            return message("verdict_no_interval", blocks=self.blocks, blocks_min=self.blocks_min, unit=self.unit)
        if self.estimate is None and self.low is None and self.high is None:
            return message("verdict_all_failed")
        return self._ratio()

    def _remarks(self) -> list[Message]:
        """The time that is still needed, and what stands in the way."""
        if self.more_minutes is None:
            return self._objections()
        return [message("verdict_more_minutes", minutes=self.more_minutes), *self._objections()]

    def _objections(self) -> list[Message]:
        """Why an interval inside the margin is not yet equivalence, or one without 0 no difference."""
        if self.doubted:
            return [message("verdict_doubted")]
        if self.unsteady is not None:
            return [self.unsteady]
        if self.low is None or self.high is None or self.low < -self.log_margin or self.high > self.log_margin:
            return []
        if self.unit == "block" and self.blocks < EQUIVALENCE_BLOCKS:
            return [message("verdict_blocks_for_equivalence", blocks=EQUIVALENCE_BLOCKS)]
        if self.total is not None and abs(self.total) > self.log_margin:
            return [message("verdict_in_total", total=self.total)]
        stalls = {"stalls_a": self.stalls_a, "stalls_b": self.stalls_b}
        return [message("verdict_stalls", a=self.a.name, b=self.b.name, **stalls)]
