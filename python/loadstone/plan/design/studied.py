"""What of the generator a run studies: where drivers or pools are compared, they are no mere means.

A client library that costs a quarter of the rate, and a pool that users queue for, are faults of a measurement of the
server, and the answer where one row has this library, or pool, and the next one another.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from loadstone.plan.crashes import Parts
from loadstone.plan.design.pairs import conditions_of
from loadstone.plan.run_plan import Condition, Pair, Studied
from loadstone.spec.levels import identity


def with_studied(
    made: Mapping[str, Parts], tables: Iterable[Iterable[Condition]], pairs: Mapping[str, tuple[Pair, ...]]
) -> dict[str, Parts]:
    """The parts of each condition, with what differs between the conditions of a table or comparison that it is in.

    Args:
        made: the parts of each condition, by its identity.
        tables: the conditions of each table, of those that are measured.
        pairs: those of each comparison.
    """
    studied: dict[str, set[Studied]] = {}
    for together in (*tables, *map(conditions_of, pairs.values())):
        names = {identity(condition) for condition in together}
        found = _differing([made[name] for name in names])
        for name in names:
            studied.setdefault(name, set()).update(found)
    return {name: replace(parts, studied=tuple(sorted(studied.get(name, ())))) for name, parts in made.items()}


def _differing(together: Sequence[Parts]) -> set[Studied]:
    found: set[Studied] = set()
    if len({one.deployment.driver for one in together}) > 1:
        found.add("driver")
    if len({one.plan.pool.connections for one in together}) > 1:
        found.add("pool")
    return found
