"""Decks: conditions that are on their servers together, with all their keys and connections, and take turns in rounds.

Where not all of them fit, neighbours stay together: conditions that follow each other and differ in the same factor are
the points of one curve.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from loadstone.message import Message, message
from loadstone.plan.design.parts import Parts
from loadstone.plan.design.sliceable import why_whole_row
from loadstone.plan.footprint import TOGETHER_BYTES_MAX, Footprint, of_load
from loadstone.plan.rounds import Rounds, table_rounds
from loadstone.plan.run_plan import TABLE_GROUP, Group, expected_measure_s, expected_overhead_s
from loadstone.spec.experiment import usual_margin
from loadstone.spec.levels import Condition, identity

CONDITIONS_MAX = 64
"""A block is measured whole or not at all: with more of them an interruption would cost minutes."""
CONNECTIONS_MAX = 3500
"""Below what a Redis takes where 4,096 files may be open, and far below its own limit of 10,000."""
ALONE = message("whole_trials.alone")
"""No other row has the same servers and warm-up, so there is nothing to take turns with."""


def _decks_that_fit(conditions: Sequence[Condition], made: Mapping[str, Parts]) -> list[tuple[Condition, ...]]:
    """The conditions in their order, in as few decks as hold them; one that fits nowhere is a deck of its own.

    Args:
        conditions: they can be up together (`plan.design.sliceable`).
        made: plans and parts of each condition, by its identity.
    """
    decks: list[list[Condition]] = []
    for curve in _curves(conditions):
        if decks and _fit([*decks[-1], *curve], made):
            decks[-1] += curve
        elif _fit(curve, made):
            decks.append(list(curve))
        else:
            decks += _cut(curve, made)
    return [tuple(deck) for deck in decks]


def _cut(curve: Iterable[Condition], made: Mapping[str, Parts]) -> list[list[Condition]]:
    """A curve that is too large for one deck."""
    decks: list[list[Condition]] = []
    for condition in curve:
        if decks and _fit([*decks[-1], condition], made):
            decks[-1].append(condition)
        else:
            decks.append([condition])
    return decks


def _curves(conditions: Sequence[Condition]) -> Iterator[list[Condition]]:
    """The conditions, those of one curve together."""
    curve: list[Condition] = []
    along: set[str] = set()
    for condition in conditions:
        differ = _differences(curve[-1], condition) if curve else set()
        if curve and (len(differ) != 1 or (along and differ != along)):
            yield curve
            curve, along = [], set()
        elif curve:
            along = differ
        curve.append(condition)
    if curve:
        yield curve


def _differences(a: Condition, b: Condition) -> set[str]:
    return {name for name in a.keys() | b.keys() if a.get(name) != b.get(name)}


def _fit(deck: Sequence[Condition], made: Mapping[str, Parts]) -> bool:
    if len(deck) > CONDITIONS_MAX:
        return False
    parts = [made[identity(condition)] for condition in deck]
    stored = sum((of_load(one.plan, one.load) for one in parts), Footprint())
    return stored.bytes <= TOGETHER_BYTES_MAX and sum(one.plan.pool.connections for one in parts) <= CONNECTIONS_MAX


def table_groups(
    conditions: Sequence[Condition],
    made: Mapping[str, Parts],
    *,
    metric: str,
    blocks: int,
    slice_s: float | None,
    whole_trials: Message | None,
) -> list[Group]:
    """The rows that take turns first, deck by deck, then the others, each kind with the reason why.

    Args:
        conditions: the rows, in the order of the tables.
        made: plans and parts of each condition, by its identity.
        metric: the experiment's primary one.
        blocks: how often each row is measured.
        slice_s: how long a slice is; None: by the rule of `plan.rounds`.
        whole_trials: why no row takes turns; None where those may that can.
    """
    decks, apart = _split(conditions, made, whole_trials)
    found: list[Group] = []
    for deck in decks:
        measure_s = fmean(expected_measure_s(made[identity(condition)].plan) for condition in deck)
        found.append(_group(len(found), deck, metric, made, blocks, rounds=table_rounds(blocks, measure_s, slice_s)))
    for why, rows in apart:
        found.append(_group(len(found), tuple(rows), metric, made, blocks, why=why))
    return found


def split_rows(
    conditions: Sequence[Condition], made: Mapping[str, Parts], whole_trials: Message | None
) -> tuple[list[tuple[Condition, ...]], list[tuple[Message, Condition]]]:
    """Decks of rows that can take turns, one of a kind as well; and the rows that cannot, each with the reason why.

    `whole_trials`: why none of them does; None where those may that can.
    """
    families: dict[str, list[Condition]] = {}
    whole: list[tuple[Message, Condition]] = []
    for condition in conditions:
        parts = made[identity(condition)]
        why = whole_trials or why_whole_row(parts)
        if why is not None:
            whole.append((why, condition))
        else:
            families.setdefault(_up_together(parts), []).append(condition)
    return [deck for family in families.values() for deck in _decks_that_fit(family, made)], whole


def mean_overhead_s(conditions: Iterable[Condition], made: Mapping[str, Parts]) -> float:
    """What a trial takes on average beside its measure phase."""
    return round(fmean(expected_overhead_s(made[identity(condition)].plan) for condition in conditions), 3)


def _split(
    conditions: Sequence[Condition], made: Mapping[str, Parts], whole_trials: Message | None
) -> tuple[list[tuple[Condition, ...]], list[tuple[Message, list[Condition]]]]:
    """Decks of rows that take turns, and the other rows by the reason why they do not."""
    decks, apart = split_rows(conditions, made, whole_trials)
    apart += [(ALONE, deck[0]) for deck in decks if len(deck) == 1]
    reasons: list[tuple[Message, list[Condition]]] = []
    for why, condition in apart:
        same = next((rows for reason, rows in reasons if reason == why), None)
        if same is None:
            reasons.append((why, [condition]))
        else:
            same.append(condition)
    return [deck for deck in decks if len(deck) > 1], reasons


def _up_together(parts: Parts) -> str:
    """What is the same of conditions that can be measured in one round."""
    deployment = parts.deployment
    return repr((deployment.servers, deployment.target, deployment.data, parts.plan.phases.warm_up_s))


def _group(
    number: int,
    conditions: tuple[Condition, ...],
    metric: str,
    made: Mapping[str, Parts],
    blocks: int,
    *,
    rounds: Rounds | None = None,
    why: Message | None = None,
) -> Group:
    plans = [made[identity(condition)].plan for condition in conditions]
    return Group(
        name=TABLE_GROUP if number == 0 else f"{TABLE_GROUP}-{number + 1}",
        conditions=conditions,
        pairs=(),
        metric=metric,
        margin=usual_margin(metric),
        looks=(blocks,),
        sequential=False,
        warm_block=False,
        trial_s=rounds.mean_measured_s if rounds else round(fmean(map(expected_measure_s, plans)), 3),
        overhead_s=rounds.mean_overhead_s if rounds else mean_overhead_s(conditions, made),
        rounds=rounds,
        whole_trials=why,
    )
