"""What is measured at a fixed rate: rows of tables and latencies compared, where the own load is at full speed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from loadstone.plan.at_rate import AT_RATE_GROUP, MOST_S, RATE_NOT_KNOWN_PER_S, FixedRate, is_saturating, with_rate
from loadstone.plan.design.decks import split_rows
from loadstone.plan.design.parts import Parts, planned_trial
from loadstone.plan.design.sliceable import AS_WRITTEN
from loadstone.plan.run_plan import AtRatePlan, Pair, PlannedTrial
from loadstone.spec.experiment import RATES
from loadstone.spec.levels import Condition, identity

SHORT_S = 1.0
"""A row may be measured for so long, however short its own trials are: a fast one has a P99 then."""


def plan_at_rate(
    fixed: FixedRate | None,
    rows: Sequence[Condition],
    made: Mapping[str, Parts],
    seed: int,
    *,
    rounds: bool,
    own_s: float,
) -> AtRatePlan | None:
    """A trial for each row whose load is a closed model without think time; None where there is none.

    Args:
        fixed: the rate; None: at none.
        rows: the conditions of all tables, in their order, those that are compared, too.
        made: plans and parts of each condition, by its identity.
        seed: the run's.
        rounds: whether conditions are measured in rounds where they can be.
        own_s: seconds for which a row is measured under its own load.
    """
    meant = [condition for condition in rows if is_saturating(made[identity(condition)].plan)]
    if fixed is None or not meant:
        return None
    most_s = min(MOST_S, max(SHORT_S, own_s))
    return AtRatePlan(fixed, tuple(_trials(fixed, meant, made, seed, rounds=rounds)), most_s)


def _trials(
    fixed: FixedRate, rows: Sequence[Condition], made: Mapping[str, Parts], seed: int, *, rounds: bool
) -> Iterator[PlannedTrial]:
    """Block by block: what can be up together is one."""
    decks, whole = split_rows(rows, made, None if rounds else AS_WRITTEN)
    blocks = [*decks, *([tuple(condition for _, condition in whole)] if whole else [])]
    for block, conditions in enumerate(blocks, start=1):
        for order, condition in enumerate(conditions, start=1):
            parts = made[identity(condition)]
            trial = planned_trial(
                parts,
                with_rate(parts.plan, fixed.rate_per_s or RATE_NOT_KNOWN_PER_S),
                name=f"{AT_RATE_GROUP}-b{block:02d}-{order:03d}",
                group=AT_RATE_GROUP,
                block=block,
                order=order,
                seed=seed,
                in_rounds=block <= len(decks),
            )
            yield replace(trial, rate_share=fixed.share)


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
