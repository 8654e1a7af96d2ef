"""Which numbers of users to measure: doubling until more users bring no more, then a grid for the sweeps."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.judge.statistics.saturation_model import ERRORS_MAX, Probe, Saturation, at_least
from loadstone.message import Message, message

GAIN_MIN = 1.05
GAINLESS = 2
REACH = 4.0
"""The grid goes on to so many times the saturation point."""
SWEEPS_MIN = 6
USERS_MAX = 65_536


@dataclass(frozen=True)
class RangeSearch:
    """What the doubling says so far: measure `next_users`; or it is over, and gives levels or an answer."""

    next_users: int | None
    levels: tuple[int, ...] = ()
    """For the sweeps; empty while it goes on, and where there is an answer already."""
    answer: Saturation | None = None
    """`capacity >= X`, where the generator was saturated or the users did."""
    why: Message | None = None
    """Why it ended."""


def search_range(probes: Sequence[Probe], think_s: float = 0.0, users_max: int = USERS_MAX) -> RangeSearch:
    """The next step after `probes`, one a doubling, beginning at 1 user.

    Ends when a doubling brought less than 5 % twice in a row, when errors pass 1 %, when the generator gives
    out, or at `users_max`. Raises ValueError if the probes are not 1, 2, 4... users.
    """
    if [probe.users for probe in probes] != [2**step for step in range(len(probes))]:
        raise ValueError("the search doubles: probes of 1, 2, 4, 8... users, in this order")
    if not probes:
        return RangeSearch(1)
    last = probes[-1]
    best = max((probe.goodput_per_s for probe in probes if _clean(probe)), default=0.0)
    if last.generator_limit:
        return _at_least(best, message("generator_gave_out_at", users=last.users, limit=last.generator_limit))
    if last.error_share > ERRORS_MAX:
        why = message("replies_failed_at", users=last.users, share=last.error_share, limit_share=ERRORS_MAX)
        clean = len(probes) > 1
        return RangeSearch(None, grid(probes[-2].users), why=why) if clean else _at_least(best, why)
    if _gainless(probes) >= GAINLESS:
        point = best * (probes[0].response_s + think_s)
        top = max(last.users, math.ceil(REACH * point))
        return RangeSearch(None, grid(top), why=message("no_longer_exceeded", per_s=best))
    if 2 * last.users > users_max:
        return _at_least(best, message("not_levelled_off_at_most", users=last.users))
    return RangeSearch(2 * last.users)


def grid(top: int) -> tuple[int, ...]:
    """1, 2, 3, 4, 6, 8, 11, 16...: powers of sqrt(2), rounded, until one reaches `top`."""
    steps = math.ceil(2 * math.log2(max(top, 1)) - 1e-9)
    return tuple(sorted({round(2 ** (step / 2)) for step in range(steps + 1)}))


def sweep_orders(levels: Sequence[int], sweeps: int, seed: int) -> list[tuple[int, ...]]:
    """The order of each sweep: fresh and random, so that neither time nor the level before is mistaken for load."""
    dice = random.Random(seed)
    return [tuple(dice.sample(list(levels), len(levels))) for _ in range(sweeps)]


def _clean(probe: Probe) -> bool:
    return probe.error_share <= ERRORS_MAX


def _gainless(probes: Sequence[Probe]) -> int:
    """How many doublings at the end brought less than 5 % over the best before them."""
    count = 0
    for place in range(len(probes) - 1, 0, -1):
        if probes[place].goodput_per_s >= GAIN_MIN * max(probe.goodput_per_s for probe in probes[:place]):
            break
        count += 1
    return count


def _at_least(best: float, why: Message) -> RangeSearch:
    return RangeSearch(None, answer=at_least(best, why), why=why)
