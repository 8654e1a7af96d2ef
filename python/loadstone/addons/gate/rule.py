"""Judges a version against its base, as a gate asks: is it slower by more than does not matter?

Red is one thing only: a figure that is worse by more than its margin, with the whole interval on that side. What a
request costs in CPU is the exactest figure on a busy machine, and the rate may be hidden by whoever makes the load, so
one of the two suffices for green. But time that is spent waiting costs no CPU, and only the rate shows it: so a gate is
not green while the other of the two may be a loss, and where the other is open, the verdict says so. P99 and
memory, of which a minute shows less, can make a gate red. They keep it from green only with a loss that is shown.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

from loadstone.addons.gate.result import FigureName, GateFigure, GateVerdict, Standing
from loadstone.addons.gate.spec import GATE_RATE, Gate
from loadstone.addons.gate.starts import starts_reach
from loadstone.experiment.plan.group import GroupDesign
from loadstone.experiment.spec.experiment import Experiment
from loadstone.judge.compare.decision_rule import Ending, JudgedQuestion, NextGroup, OpenGroup
from loadstone.judge.cost import cost_of
from loadstone.judge.metrics import is_rate, quantile_of
from loadstone.judge.statistics.pair_evidence import Evidence, reaching
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import Verdict
from loadstone.text.message import Message, message
from loadstone.text.units import margin_share

SLOWER_STATUS, INVALID_STATUS, UNDECIDED_STATUS = 1, 3, 4
DECIDING: frozenset[FigureName] = frozenset({"rate", "cpu"})
GOOD: frozenset[Standing] = frozenset({"same", "not_slower", "faster"})
PREVIEW_BLOCKS = 5
"""Blocks of a gate's P99 before rate and CPU have all the time: a loss of many times shows in so few, and no other is
worth that time."""
WITHIN_START_NOISE = "gate_starts"
"""Kind of the message why a figure says nothing of the versions: starts of one may differ by as much."""


class GateRule:
    """When a gate's comparisons end: once nothing more can change what it says."""

    compares_runs = False

    def __init__(self, gate: Gate, experiment: Experiment) -> None:
        self._gate = gate
        self._compares_rates = any(one.name == GATE_RATE for one in experiment.comparisons)
        self.cost_margin = margin_share(gate.cost_margin)

    def asks_costs(self, design: GroupDesign, verdicts: Sequence[Verdict]) -> bool:  # noqa: ARG002 (as the protocol)
        """At full speed, or where none is."""
        return is_rate(design.metric) or not self._compares_rates

    def cost(self, costs: Sequence[Verdict]) -> Verdict | None:
        """That of what is compared."""
        return cost_of(costs)

    def ending(self, design: GroupDesign, judged: Sequence[JudgedQuestion], *, decided: bool) -> Ending:
        """Whether one figure is red or invalid, or whether more blocks may change what the gate says."""
        differ = starts_differ_in(self._gate, design)
        found = [(one.verdict, one.cost) for one in judged]
        is_final = any(one.is_one_process for one in judged) or any(is_over(*one, differ) for one in found)
        return Ending(
            decided=is_final or not any(needs_more(*one, ends=decided, starts_differ=differ) for one in found),
            is_known=is_final or all(is_known(*one, differ) for one in found),
            is_final=is_final,
            suspects_loss=any(shows_loss(one.evidence, one.settings, differ) for one in judged),
        )

    def level_note(self, design: GroupDesign, level: float) -> Message:
        """The level of the gate, and whether what starts of one version differ by is in the interval."""
        apart = starts_differ_in(self._gate, design) > 0
        return message("gate_level", level=level, misleads=self._gate.level, of_processes=apart)

    def turn(self, groups: Sequence[OpenGroup]) -> NextGroup:
        """First the one that decides, up to its first look; then a glance at each other one, and more of it where that
        shows a loss; then the first until it is known or can be known no better; then the others."""
        first, *others = groups
        if not first.is_looked_at:
            return NextGroup(first.name)
        for group in others:
            glance = min(PREVIEW_BLOCKS, group.first_look)
            if group.complete < glance:
                return NextGroup(group.name, glance)
        return NextGroup(next((group.name for group in others if group.suspects_loss), first.name))


def figure_verdict(verdict: Verdict, starts_differ: float = 0.0) -> Standing:
    """What a verdict says of B, for a gate.

    `starts_differ`: the share that two processes of one version differ by that were started once, one standard
    deviation. What may come of that is said of no version; that the one is not slower is said of these two processes.
    """
    return figure_verdict_by_starts(verdict, starts_differ)[0]


def figure_verdict_by_starts(verdict: Verdict, starts_differ: float) -> tuple[Standing, bool]:
    """Its standing, and whether these two processes differ by a loss or a gain that two starts may differ by."""
    found = _of_processes(verdict)
    if found not in ("slower", "faster") or not _within_starts(verdict, starts_differ):
        return found, False
    return "undecided" if found == "slower" else "not_slower", True


def loss_margin(margin: float, *, larger_is_faster: bool) -> float:
    """Return a tolerance, a share of the base, as ln of the ratio in the direction of a loss: of 5 % a rate falls to
    0.95 of the base's, and a time rises to 1.05. Infinite for a rate and 100 %."""
    if not larger_is_faster:
        return math.log1p(margin)
    return -math.log1p(-margin) if margin < 1 else math.inf


def margin_of(verdict: Verdict) -> float:
    """Return the tolerance of a verdict, as `loss_margin` has it."""
    return loss_margin(verdict.margin, larger_is_faster=verdict.larger_is_faster)


def starts_differ_in(gate: Gate, design: GroupDesign) -> float:
    """Return the standard deviation between starts of one version, as a share. It is 0 if every block is a new start,
    because the intervals contain it then. What is measured in whole trials is started once, whatever was asked for."""
    restarted = design.rounds is not None and design.rounds.processes == "restarted"
    return 0.0 if restarted else gate.starts_differ


def _within_starts(verdict: Verdict, starts_differ: float) -> bool:
    """Whether two starts of one version may differ by what these two processes differ by: at the interval's level."""
    if not starts_differ or verdict.estimate is None or verdict.low is None or verdict.high is None:
        return False
    low, high = reaching(verdict.estimate, verdict.low, verdict.high, start_noise_reach(verdict, starts_differ))
    least, most = (-high, -low) if verdict.larger_is_faster else (low, high)
    return least <= margin_of(verdict) and most >= 0


def start_noise_reach(verdict: Verdict, starts_differ: float) -> float:
    """Return how far apart (ln) two starts of one version may be in this figure, at the level of its interval."""
    return starts_reach(starts_differ, verdict.level, of_latency=quantile_of(verdict.metric) is not None)


def _sign(verdict: Verdict) -> int:
    """With which a log ratio is a loss of B."""
    return -1 if verdict.larger_is_faster else 1


def _of_processes(verdict: Verdict) -> Standing:
    if verdict.kind == "invalid":
        return "undecided" if verdict.refusal is not None and verdict.refusal.name == "samples" else "invalid"
    if verdict.kind == "equivalent":
        return "same"
    if verdict.kind == "faster":
        if verdict.winner == "b":
            return "faster"
        return "slower" if verdict.materially and _is_beyond(verdict) else "undecided"
    return "not_slower" if _is_not_slower(verdict) else "undecided"


def _is_beyond(verdict: Verdict) -> bool:
    """Whether the whole interval is a loss beyond the tolerance."""
    ends = [_sign(verdict) * one for one in (verdict.low, verdict.high) if one is not None]
    return bool(ends) and min(ends) > margin_of(verdict)


def _is_not_slower(verdict: Verdict) -> bool:
    """Whether an open difference is known not to be a loss beyond the margin, nor are the totals of all slices."""
    moved = verdict.unsteady is not None or verdict.carried is not None or verdict.doubted
    if verdict.kind == "mixed" or moved or verdict.low is None or verdict.high is None:
        return False
    sign = _sign(verdict)
    worst = max(sign * verdict.low, sign * verdict.high)
    total = 0.0 if verdict.total is None else sign * verdict.total
    return max(worst, total) <= margin_of(verdict)


def needs_more(primary: Verdict, cost: Verdict | None, *, ends: bool, starts_differ: float = 0.0) -> bool:
    """Whether more blocks of a comparison may change what a gate says.

    Of rates: neither rate nor CPU is known to be good, whatever the forecast, or one of them may be a loss though the
    other is. Of others: it would not end by itself, or looks like a loss; or the CPU, where it decides there, is
    not known to be good.

    Args:
        primary: the verdict by the comparison's metric.
        cost: the one by CPU per request, if that has a say in the comparison: see `cost_of`.
        ends: whether any other comparison would end.
        starts_differ: see `figure_verdict`.
    """
    found = [(one, *figure_verdict_by_starts(one, starts_differ)) for one in (primary, cost) if one is not None]
    standings = {of for _, of, _ in found}
    if "slower" in standings or figure_verdict(primary) == "invalid":
        return False
    if withheld := [one for one, of, is_withheld in found if is_withheld and of == "undecided"]:
        return any(_outreaches_starts(one, starts_differ) for one in withheld)
    open_ = [one for one, of, _ in found if of == "undecided"]
    if is_rate(primary.metric):
        return GOOD.isdisjoint(standings) or any(map(may_be_lost, open_))
    known = ends and all(of in GOOD for one, of, _ in found if one is cost)
    return not known or any(map(_is_likely_loss, open_))


def is_known(primary: Verdict, cost: Verdict | None, starts_differ: float = 0.0) -> bool:
    """Whether rate and CPU are both decided, or more blocks would probably not decide the open one.

    One of them suffices for the verdict; time that is left over is for the other, which the verdict else calls unknown.
    """
    if not is_rate(primary.metric):
        return True
    found = [(one, *figure_verdict_by_starts(one, starts_differ)) for one in (primary, cost) if one is not None]
    return not any(
        of == "undecided" and not is_withheld and one.kind != "not_decidable" for one, of, is_withheld in found
    )


def _loss(verdict: Verdict) -> float | None:
    return None if verdict.estimate is None else _sign(verdict) * verdict.estimate


def _outreaches_starts(verdict: Verdict, starts_differ: float) -> bool:
    """Whether a loss would be beyond what starts differ by, if its own interval were narrow."""
    loss = _loss(verdict)
    return loss is not None and loss - start_noise_reach(verdict, starts_differ) > margin_of(verdict)


def _is_likely_loss(verdict: Verdict) -> bool:
    """Whether an open difference is more likely a loss beyond the margin than not."""
    loss = _loss(verdict)
    return loss is not None and (loss > margin_of(verdict) or _is_lost_by_some(verdict))


def may_be_lost(verdict: Verdict) -> bool:
    """Whether an open difference is a loss of unknown size, or may be one beyond the margin: by one standard error.

    Of equal versions few are kept from green by that, and of losses beyond the margin nearly all (`scripts/bench
    gate-level --waiting`, bench/results/gate-waiting-2026-11-28.jsonl).
    """
    loss = _loss(verdict)
    if loss is None or verdict.low is None or verdict.high is None:
        return False
    worst = max(_sign(verdict) * verdict.low, _sign(verdict) * verdict.high)
    error = (worst - loss) / NormalDist().inv_cdf((1 + (verdict.level or 0.95)) / 2)
    return loss + error > margin_of(verdict) or _is_lost_by_some(verdict)


def _is_lost_by_some(verdict: Verdict) -> bool:
    """Whether the whole interval is a loss."""
    ends = [_sign(verdict) * one for one in (verdict.low, verdict.high) if one is not None]
    return len(ends) == 2 and min(ends) > 0


def shows_loss(evidence: Evidence, settings: Settings, starts_differ: float = 0.0) -> bool:
    """Whether few blocks make it likely that more of them would show a loss: it lies beyond the margin, and what starts
    differ by, by more than the standard error. Of equal versions one in 14 looks so, by chance.
    """
    if evidence.estimate is None or evidence.spread is None:
        return False
    loss = (-1 if settings.larger_is_faster else 1) * evidence.estimate
    of_latency = quantile_of(settings.metric) is not None
    reach = starts_reach(starts_differ, 1 - settings.interval_alpha, of_latency=of_latency)
    margin = loss_margin(settings.margin, larger_is_faster=settings.larger_is_faster)
    return loss - margin - reach > evidence.spread / math.sqrt(evidence.blocks)


def is_over(primary: Verdict, cost: Verdict | None, starts_differ: float = 0.0) -> bool:
    """Whether nothing else that could be measured changes what a gate says: it is slower, or invalid."""
    found = [one for one in (primary, cost) if one is not None]
    return invalidates_gate(primary) or any(figure_verdict(one, starts_differ) == "slower" for one in found)


def invalidates_gate(primary: Verdict) -> bool:
    """Whether what makes a comparison invalid does so to the whole gate: of rates anything, of others failed requests.

    A P99 of too few operations, or on parts that were not warm yet, is no reason to say nothing of the rate.
    """
    refusal = primary.refusal
    return (
        figure_verdict(primary) == "invalid"
        and refusal is not None
        and (is_rate(primary.metric) or refusal.name == "errors")
    )


def verdict_of(
    figures: Sequence[GateFigure], twin: Sequence[GateFigure] = (), *, invalid: bool = False
) -> tuple[GateVerdict, list[FigureName]]:
    """The verdict over all figures, and those that it rests on."""
    apart = [one.name for one in twin if _differs(one)]
    if invalid or apart:
        return "invalid", apart
    slower = [one.name for one in figures if one.verdict == "slower"]
    if slower:
        return "slower", slower
    good = [one for one in deciding(figures) if one.verdict in GOOD]
    if not good or probable_losses(figures):
        return "undecided", []
    faster = [one.name for one in good if one.verdict == "faster"]
    if faster:
        return "faster", faster
    return "same", [one.name for one in figures if one.verdict in GOOD]


def probable_losses(figures: Sequence[GateFigure]) -> list[GateFigure]:
    """The open figures that keep a gate from green.

    These are rate and CPU where they may be lost. Of the others, which vary much more between equal versions, it is a
    figure whose whole interval shows a loss that is probably beyond the tolerance, and that two starts of one version
    do not explain.
    """
    asked, withheld = deciding(figures), losses_within_start_noise(figures)
    shown = [one for one in figures if one not in asked and one not in withheld and _is_shown(one)]
    return [one for one in (*asked, *shown) if one.verdict == "undecided" and one.may_be_lost]


def _is_shown(figure: GateFigure) -> bool:
    """Whether the whole interval is a loss, whose middle lies beyond the tolerance."""
    low, middle = figure.slower_low, figure.slower
    return low is not None and low > 0 and middle is not None and middle > figure.tolerance


def unknown(figures: Sequence[GateFigure]) -> list[GateFigure]:
    """The open figures without which time that a version spends waiting may stay hidden: the deciding ones, and the P99
    where no rate is compared."""
    names = DECIDING if any(one.name == "rate" for one in figures) else DECIDING | {"p99"}
    return [one for one in figures if one.name in names and one.verdict == "undecided"]


def losses_within_start_noise(figures: Sequence[GateFigure]) -> list[GateFigure]:
    """The figures by which these two processes differ by a loss that two starts of one version may differ by."""
    return [
        one
        for one in figures
        if one.verdict == "undecided" and one.why is not None and one.why.kind == WITHIN_START_NOISE
    ]


def deciding(figures: Sequence[GateFigure]) -> list[GateFigure]:
    """The figures of which one must be decided: rate and CPU, or at a rate, of what runs elsewhere, the P99."""
    return [one for one in figures if one.name in DECIDING] or [one for one in figures if one.name == "p99"]


def status_of(verdict: GateVerdict, undecided: Literal["status", "pass", "fail"] = "status") -> int:
    """The exit status of a verdict; `undecided`: what becomes of what is not decidable here."""
    if verdict == "undecided":
        return {"status": UNDECIDED_STATUS, "pass": 0, "fail": SLOWER_STATUS}[undecided]
    return {"slower": SLOWER_STATUS, "invalid": INVALID_STATUS}.get(verdict, 0)


def _differs(twin: GateFigure) -> bool:
    """Whether the base differs from itself by more than the tolerance: then this machine shows what is not there."""
    return twin.verdict in ("slower", "invalid") or (
        twin.verdict == "faster" and twin.slower_high is not None and -twin.slower_high > twin.tolerance
    )
