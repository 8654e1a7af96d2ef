"""A pair of conditions with what a request costs each side, which confirms or answers where rates cannot."""

from collections.abc import Callable
from functools import cache, partial

from loadstone.judge.compare.cases import JudgedPair
from loadstone.judge.compare.pairs import Pair
from loadstone.judge.cost import compare_costs
from loadstone.judge.gate import cost_of
from loadstone.judge.metrics import is_rate
from loadstone.judge.statistics.decision import doubted
from loadstone.judge.verdict import DECIDED, Verdict
from loadstone.plan.looks import LATER_ROUND_LOOKS

CostsOf = Callable[[], list[Verdict]]
"""A pair's verdicts by cost, which take far longer than the one by rate: judged when they are asked for, and once."""


def judged_once(judged: JudgedPair) -> CostsOf:
    """The costs of a pair as it was judged by its rates."""
    pair, _, verdict = judged
    return cache(partial(_costs, pair, verdict))


def confirmed(judged: JudgedPair, costs: CostsOf) -> JudgedPair:
    """As judged; after few rounds a rate is undecided unless what a request costs prefers the same side: what reaches
    from one slice into the next shows in more rounds only, and costs both sides the same."""
    pair, evidence, verdict = judged
    if not is_early(verdict) or not is_rate(verdict.metric):
        return judged
    dearest = dearest_of(costs)
    if dearest is not None and dearest.kind == "faster" and dearest.winner == verdict.winner:
        return judged
    return pair, evidence, doubted(verdict, pair.settings)


def is_early(verdict: Verdict) -> bool:
    """Decided after so few rounds as only what is far from alike is."""
    return verdict.unit == "round" and verdict.kind in DECIDED and verdict.blocks < LATER_ROUND_LOOKS[0]


def dearest_of(costs: CostsOf) -> Verdict | None:
    """The verdict by the cost of the part that a request costs most; None where none is known."""
    return next(iter(costs()), None)


def compared_cost(costs: CostsOf) -> Verdict | None:
    """The verdict by the cost of what a gate compares."""
    return cost_of(costs())


def _costs(pair: Pair, verdict: Verdict) -> list[Verdict]:
    """The verdicts by cost; none where something reaches from one slice into the next: it costs CPU, too."""
    return [] if verdict.carried is not None else compare_costs(pair)
