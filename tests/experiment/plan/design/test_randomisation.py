"""The order of a block: random, complete, and fair to both sides of every pair."""

from collections import Counter
from itertools import pairwise

import pytest
from scipy.stats import binom
from tests.experiments import find_experiment

from loadstone.experiment.plan.design.randomisation import block_order, derived_seed
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.run_plan import TABLE_GROUP, RunPlan
from loadstone.experiment.spec.levels import identity
from loadstone.experiment.spec.loading import load_experiment

BLOCKS = 400
RARE = 1e-6
"""A fair order fails a test so seldom; the seeds are fixed, so it fails always or never."""


@pytest.fixture(scope="module")
def study() -> RunPlan:
    return make_run_plan(find_experiment("json-documents"))


def of(run_plan: RunPlan, name: str) -> Group:
    return next(group for group in run_plan.groups if group.name == name)


def places(group: Group, seed: int, block: int) -> dict[str, int]:
    return {identity(condition): place for place, condition in enumerate(block_order(group, seed, block))}


@pytest.mark.parametrize("name", [TABLE_GROUP, "partial-update", "storage", "small-pool", "warm-up"])
def test_every_condition_stands_in_a_block_once(study: RunPlan, name: str) -> None:
    group = of(study, name)
    required = Counter(map(identity, group.conditions))
    assert max(required.values()) == 1
    orders = [[identity(condition) for condition in block_order(group, seed, 1)] for seed in range(100)]
    assert all(Counter(order) == required for order in orders)
    assert len({tuple(order) for order in orders}) > 1


@pytest.mark.parametrize("name", ["partial-update", "storage", "small-pool", "warm-up"])
@pytest.mark.parametrize("over", ["blocks", "seeds"])
def test_which_side_of_a_pair_comes_first_is_a_fair_coin(study: RunPlan, name: str, over: str) -> None:
    group = of(study, name)
    a_first, alike, before = Counter[int](), Counter[int](), dict[int, bool]()
    for number in range(BLOCKS):
        seed, block = (1, number) if over == "blocks" else (number, 1)
        place = places(group, seed, block)
        for index, pair in enumerate(group.pairs):
            first = place[identity(pair.a)] < place[identity(pair.b)]
            a_first[index] += first
            alike[index] += before.get(index) == first
            before[index] = first
    low, high = binom.ppf(RARE, BLOCKS, 0.5), binom.isf(RARE, BLOCKS, 0.5)
    for index in range(len(group.pairs)):
        assert low < a_first[index] < high
        assert low < alike[index] < high, "one block's order says nothing about the next one's"


@pytest.mark.parametrize(("name", "size"), [("partial-update", 2), ("storage", 3)])
def test_what_is_compared_stays_together(study: RunPlan, name: str, size: int) -> None:
    """The conditions of one place are connected by pairs; each such cluster runs without a break."""
    group = of(study, name)
    orders = set()
    for seed in range(9000):
        places = [(condition["payload"], condition["workers"]) for condition in block_order(group, seed, 3)]
        assert sum(a != b for a, b in pairwise(places)) == len(places) // size - 1
        orders.add(tuple(places[::size]))
        if len(orders) == 720:
            break
    assert len(orders) == 720, "the clusters come in every order"


def test_pairs_of_pairs_are_one_cluster(compared: str) -> None:
    """`users` by operation: two clusters. With a table's condition in no pair, each stands for itself."""
    run_plan = make_run_plan(load_experiment(compared))
    group = of(run_plan, "users")
    for seed in range(50):
        operations = [condition["operation"] for condition in block_order(group, seed, 1)]
        assert operations in (["set", "set", "get", "get"], ["get", "get", "set", "set"])
    table = of(run_plan, TABLE_GROUP)
    first = Counter(identity(block_order(table, seed, 1)[0]) for seed in range(BLOCKS))
    share = 1 / len(table.conditions)
    assert len(first) == len(table.conditions)
    assert all(binom.ppf(RARE, BLOCKS, share) < count < binom.isf(RARE, BLOCKS, share) for count in first.values())


def test_groups_are_shuffled_apart(compared: str) -> None:
    """Two groups with the same conditions do not share their coin."""
    run_plan = make_run_plan(load_experiment(compared))
    one = of(run_plan, "kinds")
    other = Group(**{**one.__dict__, "name": "again"})
    same = sum(block_order(one, seed, 1) == block_order(other, seed, 1) for seed in range(BLOCKS))
    assert binom.ppf(RARE, BLOCKS, 0.5) < same < binom.isf(RARE, BLOCKS, 0.5)


def test_derived_seeds_fit_into_63_bits() -> None:
    seeds = {derived_seed(1, "a", number) for number in range(1000)}
    assert len(seeds) == 1000
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert derived_seed(1, "order", 1) == 692994953975066095, "a seed must mean the same on every machine"
