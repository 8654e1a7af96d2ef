"""Hash slots of a Redis Cluster, as a plan's endpoints have them."""

from collections.abc import Sequence
from itertools import pairwise

SLOTS = 16_384
Ranges = Sequence[tuple[int, int]]


def even_slots(nodes: int) -> list[tuple[tuple[int, int], ...]]:
    """The slots of each node where they are spread evenly: one range each."""
    ends = [SLOTS * number // nodes for number in range(nodes + 1)]
    return [((first, last - 1),) for first, last in pairwise(ends)]


def wrong_in_slots(endpoints: Sequence[Ranges]) -> str | None:
    """What is wrong with the slots of the endpoints; None if nothing is, or if none has any.

    An endpoint without slots among others that have them is a node that slots may move to.
    """
    if not any(endpoints):
        return None
    holder: dict[int, int] = {}
    for number, ranges in enumerate(endpoints):
        place = f"endpoints.{number}.slots"
        for first, last in ranges:
            if not 0 <= first <= last < SLOTS:
                return f"{place}: [{first}, {last}] must be two slots from 0 to {SLOTS - 1}, the smaller first"
            for slot in range(first, last + 1):
                if slot in holder:
                    return f"{place}: slot {slot} belongs to endpoints.{holder[slot]} too; give it to one"
                holder[slot] = number
    missing = next((slot for slot in range(SLOTS) if slot not in holder), None)
    return None if missing is None else f"endpoints: no endpoint has slot {missing}; give it to one"
