"""When to look, and at which level, so that stopping early costs no honesty.

Source: Pocock's boundary (Jennison & Turnbull 2000, ch. 2) at five looks, the level found by
simulation of the exact signed-rank test: alpha' = .0157 at each look gives at most 5 % over all.
"""

LOOKS = (8, 12, 18, 27, 40)
"""Numbers of blocks at which a sequential comparison is judged."""
LOOK_ALPHA = 0.0157
"""Level of each look, for all comparisons of the experiment together."""
FIXED_ALPHA = 0.05
"""Level of a comparison that is judged once, after a number of blocks fixed beforehand."""
BLOCKS_MIN = 8
"""Fewer blocks get no verdict."""
BLOCKS_MIN_PAIRS = 12
"""The first look when several pairs are compared."""


def looks(pairs: int = 1) -> tuple[int, ...]:
    """The looks of an experiment that declares `pairs` comparisons."""
    return tuple(blocks for blocks in LOOKS if pairs == 1 or blocks >= BLOCKS_MIN_PAIRS)


def next_look(blocks: int, pairs: int = 1) -> int | None:
    """The first look beyond `blocks`; None after the last one."""
    return next((look for look in looks(pairs) if look > blocks), None)


def level(sequential: bool) -> float:
    """Level of one look, to be divided by the number of pairs for an interval."""
    return LOOK_ALPHA if sequential else FIXED_ALPHA
