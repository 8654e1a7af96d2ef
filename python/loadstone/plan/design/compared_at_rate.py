"""Latencies that are compared at one equal rate: where the experiment's own load is a closed one at full speed."""

from collections.abc import Iterable, Mapping

from loadstone.plan.at_rate import FixedRate, is_saturating
from loadstone.plan.crashes import Parts
from loadstone.plan.run_plan import Pair
from loadstone.spec.experiment import RATES
from loadstone.spec.levels import identity


def equal_rate(
    metric: str, pairs: Iterable[Pair], made: Mapping[str, Parts], share_or_rate: FixedRate
) -> FixedRate | None:
    """The rate of a comparison: of the share the slowest condition's capacity counts, which the warm-up block measures.

    At full speed latency is users / throughput. None where a rate is compared, where the load has a rate or pauses of
    its own, and where the two of a pair differ in their users, of which nothing is left at a rate.

    Args:
        metric: what decides.
        pairs: what is compared.
        made: plans and parts of each condition, by its identity.
        share_or_rate: what is used where the question arises.
    """
    if metric in RATES:
        return None
    plans = [(made[identity(pair.a)].plan, made[identity(pair.b)].plan) for pair in pairs]
    alike = all(is_saturating(a) and is_saturating(b) and a.model == b.model for a, b in plans)
    return share_or_rate if alike else None
