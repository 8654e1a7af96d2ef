"""Whether what is about to be called different was steady, of processes that were started once.

Servers that are started again for each block vary from start to start, and that is in the interval. Processes that are
started once have no such thing: while a JVM still compiles, its rates rise through all blocks, and the interval is
that of a ratio which goes on moving. And where other programs had the CPUs, a process of many threads gets a larger
share of what they leave than one of few, in every round alike. No interval shows that, so the difference waits. What
is undecided because it moves says so, too: more of the same rounds would not decide it.

What moved so far may move as much again: a difference more than twice as large stands, and so does one that is larger
than all that others took.
"""

import math
from collections.abc import Mapping, Sequence

from loadstone.experiment.plan.labels import condition_label
from loadstone.judge.checks.checks import forbidding
from loadstone.judge.checks.generator_bounds import FAR, bound_over
from loadstone.judge.compare.cases import GroupCase
from loadstone.judge.compare.round_figures import contrast_slices
from loadstone.judge.metrics import is_rate
from loadstone.judge.statistics.trend import trend
from loadstone.judge.verdict import Verdict
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import Message, message

RISE_MIN = math.log(1.25)
"""J: a condition that got so much faster from the first round to the last one was not warmed up."""
SHIFT_MIN = math.log(1.10)
"""J: a ratio that moved by so much is no figure of something steady."""
AGAIN = 2.0
"""J: what moved so far may move as much again."""

MEAN = "response_ns.mean"
"""What shows of a latency whether it moves, slice by slice; its quantiles are of many slices together."""

_Block = Mapping[str, TrialRecord]


def unsteady(case: GroupCase, verdict: Verdict, weights: Mapping[str, float]) -> Message | None:
    """Why a difference may be one of the moment, and what decides; None where all is steady, or nothing is claimed.

    Args:
        case: the group.
        verdict: what may be said otherwise.
        weights: identity of a condition -> how much ln of its figure counts in it.
    """
    rounds = case.design.rounds
    if rounds is None or rounds.processes != "once" or not weights or (verdict.low is None and verdict.high is None):
        return None
    if verdict.kind not in ("faster", "mixed", "undecided") or verdict.doubted:
        return None
    judged = [case.blocks.trials[number] for number in case.judged]
    blocks = [block for block in judged if not any(forbidding(block[key]) for key in weights)]
    lead = lead_of(verdict)
    taken = _taken(blocks, weights, lead) if verdict.kind != "undecided" else None
    return taken or _moving(case, blocks, weights, lead)


def lead_of(verdict: Verdict) -> float:
    """Return how far from no difference the interval begins."""
    low = -math.inf if verdict.low is None else verdict.low
    high = math.inf if verdict.high is None else verdict.high
    return max(low, -high, 0.0)


def may_explain(moved: float, least: float, lead: float) -> bool:
    """Whether what moved by more than `least` may be all of a difference, if it moves as much again."""
    return moved > least and lead < AGAIN * moved


def _taken(blocks: Sequence[_Block], weights: Mapping[str, float], lead: float) -> Message | None:
    """Other programs and machines had so much of the CPUs that no condition has a rate of its own."""
    bounds = [bound_over([block[key] for block in blocks]) for key in weights]
    taken = [0.0 if bound is None else bound.taken or 0.0 for bound in bounds]
    if 100 * min(taken) <= FAR or lead >= math.log1p(max(taken)):
        return None
    return message("verdict_others_had_cpus", taken=max(taken))


def _moving(case: GroupCase, blocks: Sequence[_Block], weights: Mapping[str, float], lead: float) -> Message | None:
    """A condition still got faster from round to round, or the ratio still moved."""
    rate = is_rate(case.design.metric)
    try:
        slices = contrast_slices(blocks, weights, case.design.metric if rate else MEAN)
    except ValueError:
        return None
    faster = 1 if rate else -1  # less time is faster
    rises = {key: faster * (trend(one) or 0.0) for key, one in zip(weights, slices.logs, strict=True)}
    rising = max(rises, key=lambda key: rises[key])
    if may_explain(rises[rising], RISE_MIN, lead):
        return message("verdict_still_rising", name=_name(case, blocks, rising, weights), rise=rises[rising])
    shift = abs(trend(slices.log_ratios) or 0.0)
    return message("verdict_still_moving", shift=shift) if may_explain(shift, SHIFT_MIN, lead) else None


def _name(case: GroupCase, blocks: Sequence[_Block], key: str, weights: Mapping[str, float]) -> str:
    """A condition by what differs between those of the claim."""
    conditions = [blocks[0][one].condition for one in weights]
    apart = [name for name in conditions[0] if len({str(condition.get(name)) for condition in conditions}) > 1]
    return condition_label(case.experiment, blocks[0][key].condition, apart)
