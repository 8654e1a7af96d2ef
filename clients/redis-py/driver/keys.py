"""Which key an operation takes."""

import math
from collections.abc import Callable
from functools import partial
from itertools import count
from random import Random

from driver.plan import Keys

TRIES = 16
"""Draws of a key that is there already, after which the next free one is taken."""
Draw = Callable[[], int | None]
"""The number of the next key; None once every key of `exactly_once` was taken."""


def key_picker(keys: Keys, random: Random) -> Draw:
    """Draws keys as the plan distributes them. Several threads may draw: each draw is one step of an iterator."""
    match keys.distribution:
        case "uniform":
            return lambda: int(random.random() * keys.count)
        case "sequential":
            numbers = count()
            return lambda: next(numbers) % keys.count
        case "exactly_once":
            return partial(next, iter(range(keys.count)), None)
        case "zipf":
            return Zipf(keys.count, keys.zipf_exponent, random).draw
        case _:
            return lambda: _gaussian(keys, random)


def others(keys: Keys, draw: Draw, key: int, number: int) -> tuple[int, ...]:
    """So many other keys of one operation: each drawn as the first is, and different from all before it.

    Of keys that are taken in order they are those that follow.
    """
    taken = {key: None}
    while len(taken) <= number:
        other = (key + len(taken)) % keys.count
        if keys.distribution != "sequential":
            for _ in range(TRIES):
                other = draw() or 0
                if other not in taken:
                    break
        while other in taken:
            other = (other + 1) % keys.count
        taken[other] = None
    return tuple(taken)[1:]


def _gaussian(keys: Keys, random: Random) -> int:
    """Around the middle of the key space, drawn again outside of it."""
    while True:
        # A wide bell is flat inside the key space: there, uniform proposals are rejected less often.
        if keys.gaussian_sd < 0.3:
            place = random.normalvariate(0.5, keys.gaussian_sd)
        else:
            place = random.random()
            if random.random() > math.exp(-0.5 * ((place - 0.5) / keys.gaussian_sd) ** 2):
                continue
        if 0 <= place < 1:
            return min(int(place * keys.count), keys.count - 1)


class Zipf:
    """Number k (from 0) with the weight (k + 1)^-exponent, by rejection-inversion: no table, for any number of keys.

    W. Hörmann & G. Derflinger, 'Rejection-inversion to generate variates from monotone discrete distributions',
    ACM TOMACS 6 (1996) 169-184; H is the integral of h(x) = x^-exponent.
    """

    def __init__(self, count: int, exponent: float, random: Random) -> None:
        self._count = count
        self._exponent = exponent
        self._random = random
        self._first = self._integral(1.5) - 1
        self._last = self._integral(count + 0.5)
        self._squeeze = 2 - self._inverse(self._integral(2.5) - self._h(2))

    def draw(self) -> int:
        while True:
            u = self._last + self._random.random() * (self._first - self._last)
            x = self._inverse(u)
            k = min(max(math.floor(x + 0.5), 1), self._count)
            if k - x <= self._squeeze or u >= self._integral(k + 0.5) - self._h(k):
                return k - 1

    def _h(self, x: float) -> float:
        return math.exp(-self._exponent * math.log(x))

    def _integral(self, x: float) -> float:
        log = math.log(x)
        return _near_one(math.expm1, (1 - self._exponent) * log) * log

    def _inverse(self, x: float) -> float:
        # Rounding may take the argument below -1, where the logarithm has no value.
        return math.exp(_near_one(math.log1p, max(x * (1 - self._exponent), -1 + 1e-15)) * x)


def _near_one(function: Callable[[float], float], x: float) -> float:
    """function(x) / x, also near 0."""
    return function(x) / x if abs(x) > 1e-8 else 1.0
