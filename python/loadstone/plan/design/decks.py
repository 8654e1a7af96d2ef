"""Decks: conditions that are on their servers together, with all their keys and connections, and take turns in rounds.

Where not all of them fit, neighbours stay together: conditions that follow each other and differ in the same factor are
the points of one curve.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from loadstone.plan.design.parts import Parts
from loadstone.plan.footprint import TOGETHER_BYTES_MAX, Footprint, of_load
from loadstone.spec.levels import Condition, identity

CONDITIONS_MAX = 64
"""A block is measured whole or not at all: with more of them an interruption would cost minutes."""
CONNECTIONS_MAX = 3500
"""Below what a Redis takes where 4,096 files may be open, and far below its own limit of 10,000."""


def decks_that_fit(conditions: Sequence[Condition], made: Mapping[str, Parts]) -> list[tuple[Condition, ...]]:
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
