"""Chance: seeds of their own for everything, and the random order of a block."""

import hashlib
import random

from loadstone.experiment.plan.group import Group
from loadstone.experiment.spec.levels import Condition, identity


def derived_seed(seed: int, *parts: object) -> int:
    """A seed of 63 bits that depends on the run's seed and on what it is for, and on nothing else."""
    text = "|".join(str(part) for part in (seed, *parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1


def block_order(group: Group, seed: int, block: int) -> list[Condition]:
    """The conditions of a group in one block's order. It is a shuffle of its own: nothing carries over.

    Conditions that are compared, directly or over others, stay together, so that little time lies between
    them; which comes first of any two is a fair coin.
    """
    return _shuffled(group, random.Random(derived_seed(seed, "order", group.key, block)))


def round_orders(group: Group, seed: int, block: int, rounds: int) -> list[list[Condition]]:
    """The conditions of a group in the order of each round of a block, each shuffled for itself."""
    chance = random.Random(derived_seed(seed, "rounds", group.key, block))
    return [_shuffled(group, chance) for _ in range(rounds)]


def _shuffled(group: Group, chance: random.Random) -> list[Condition]:
    clusters = _clusters(group)
    chance.shuffle(clusters)
    for cluster in clusters:
        chance.shuffle(cluster)
    return [condition for cluster in clusters for condition in cluster]


def _clusters(group: Group) -> list[list[Condition]]:
    """The conditions, those that pairs connect together; each that is in no pair for itself."""
    clusters = {identity(condition): [condition] for condition in group.conditions}
    for pair in group.pairs:
        a, b = clusters[identity(pair.a)], clusters[identity(pair.b)]
        if a is not b:
            a.extend(b)
            clusters.update({identity(condition): a for condition in b})
    return list({id(cluster): cluster for cluster in clusters.values()}.values())
