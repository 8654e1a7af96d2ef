"""Numbers and times with three digits, and shares, ratios and differences as per cent, the same everywhere."""

import math
from collections.abc import Callable, Sequence

from loadstone.text.language import _


def rounded(value: float) -> str:
    """A number with three digits: `18,400`, `84.3`."""
    if value == 0:
        return "0"
    return f"{float(f'{value:.3g}'):,.10f}".rstrip("0").rstrip(".")


def digits(value: float, count: int = 3) -> str:
    """A number with so many digits at least, and never as a power of ten: `0.42`, `99.6`, `100`, `1,234`."""
    text = f"{value:.{count}g}"
    if "e" not in text:
        return text
    return f"{value:,.0f}" if abs(value) >= 1 else f"{float(text):.12f}".rstrip("0").rstrip(".")


def duration(nanoseconds: float, *, whole: bool = False) -> str:
    """Write a time with three digits: `840 ns`, `84.1 µs`, `1.20 ms`.

    `whole`: microseconds have no decimals from 10 on (`84 µs`), as in the narrow columns of tables.
    """
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(nanoseconds) >= 0.9995 * size:
            return f"{three_digits(nanoseconds / size, 0 if whole and unit == 'µs' else 2)} {unit}"
    return f"{nanoseconds or 0:.0f} ns"


def check_figure(value: float) -> str:
    """A check's figure or limit: three digits, and a whole number in full: `97.2`, `12,345`."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def three_digits(value: float, decimals: int = 2) -> str:
    """Write a number with three digits; where `decimals` is 0, values from 10 on are whole."""
    magnitude = abs(value)
    if magnitude < 9.995:
        return f"{value:.{decimals or 1}f}"
    if magnitude < 99.95:
        return f"{value:.{min(decimals, 1)}f}"
    return f"{value:,.0f}"


def slice_text(seconds: float) -> str:
    """`400 ms`, `1.6 s`."""
    return f"{seconds:g} s" if seconds >= 1 else f"{1000 * seconds:g} ms"


DECIMALS_MAX = 3
TIMES_BEYOND_PERCENT = 50.0
"""A difference of more than this, up or down, is said as a factor: nobody sees that -93 % and +1366 % are the same."""
FAR_APART = 100.0
"""Ends of a factor's interval that lie so many times apart have digits of their own."""
NARROW = 0.03
"""A small factor whose interval is no wider has a decimal more, or both ends would be alike."""
SMALL_BOUND = 0.01
"""A bound below it is left out: the figure is as good as it can be."""


def log_percent(log_ratio: float) -> float:
    """A log ratio in per cent of the base: ln(head / base) of 1.12 is 12, and of 0.83 it is -17."""
    return 100 * math.expm1(log_ratio)


def decimals_of(values: Sequence[float]) -> int:
    """Two figures of the interval's width (or of a single value), and more where one would print as zero.

    For an end of an interval that is one more at most: of what is nearer to zero, `_ends_text` says the side.
    """
    finite = [value for value in values if math.isfinite(value)]
    is_interval = len(finite) > 1
    width = max(finite) - min(finite) if is_interval else abs(sum(finite))
    least = 0 if width >= 3 else 1 if width >= 0.3 else 2
    most = min(DECIMALS_MAX, least + 1) if is_interval else DECIMALS_MAX
    for decimals in range(least, most + 1):
        if all(round(value, decimals) or not value for value in finite):
            return decimals
    return least if is_interval else most


def decimals_of_one(value: float) -> int:
    """Return the decimals of a single figure such as a margin: none from 10 on and for whole numbers, else one."""
    return 0 if abs(value) >= 10 or math.isclose(value, round(value), abs_tol=0.005) else 1


def decimal(value: float, decimals: int) -> str:
    """A number without a minus before zero; `inf` without end."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def bound_suffix(share: float) -> str:
    """A bound as it stands behind a figure, rounded up: 0.042 is `+5 %`; empty where it is too small to matter."""
    return "" if share < SMALL_BOUND else f"+{up_to_percent(share):,} %"


def up_to_percent(share: float) -> int:
    """A bound in per cent, rounded up."""
    return math.ceil(100 * share - 1e-6)


def is_times(log_ratio: float) -> bool:
    """Whether a difference is so large, up or down, that it is said as a factor."""
    return abs(round(log_percent(log_ratio), 6)) > TIMES_BEYOND_PERCENT


def times_text(
    estimate: float,
    low: float | None = None,
    high: float | None = None,
    *,
    as_fast: bool = False,
    excludes_none: bool = False,
) -> str:
    """`14.7 times [13.1, 16.3]` from log ratios; `as_fast`: 14.7 times as fast; `excludes_none`: see `_ends_text`."""
    ends = [_factor(end) for end in (low, high) if end is not None]
    value = _factor(estimate)
    is_far = len(ends) > 1 and ends[-1] > FAR_APART * ends[0]
    decimals = max(decimals_of(ends) if ends and not is_far else 0, _decimals_of_factor(value))
    if value < 1 and ends and max(ends) - min(ends) < NARROW:
        decimals = DECIMALS_MAX
    times = decimal(value, decimals)
    figure = _("{factor} times as fast", factor=times) if as_fast else _("{factor} times", factor=times)
    write = _far_factor if is_far else None
    return (
        f"{figure} {_ends_text(ends, decimals, none=1.0, excludes_none=excludes_none, write=write)}" if ends else figure
    )


def _far_factor(value: float) -> str:
    """An end of an interval so wide that it has digits of its own: `0.003`, `55`, `<0.001`, `>1,000,000`."""
    if value < 0.0005:
        return "<0.001"
    if math.isfinite(value) and value > 1e6:
        return ">1,000,000"
    return decimal(value, 0 if value >= 10 else _decimals_of_factor(value))


def factor_text(log_ratio: float) -> str:
    """Return how many times, without the word: `14.7`, `0.26`."""
    value = _factor(log_ratio)
    return decimal(value, _decimals_of_factor(value))


def _decimals_of_factor(value: float) -> int:
    """Two digits: of 0.068 three decimals, of 0.26 two, of 3.8 one."""
    if value >= 1:
        return 0 if value >= 100 else 1
    return 2 if value >= 0.095 else DECIMALS_MAX


def _ends_text(
    ends: Sequence[float],
    decimals: int,
    *,
    none: float = 0.0,
    excludes_none: bool = False,
    write: Callable[[float], str] | None = None,
) -> str:
    """`[9, 15]`; an end that is exactly no difference is `>0` or `<0` where the interval is known to hold none, and so
    is one that is too near to it to be printed: `[>0, 44]`.

    A difference that is decided step by step may have been cut there: its interval begins beside it, not on it.

    Args:
        ends: lower and upper end, as printed.
        decimals: how many.
        none: the figure of no difference: 0 per cent, 1 time.
        excludes_none: whether the difference was shown to be real.
        write: how an end is written that has digits of its own.
    """

    in_digits = write or (lambda value: decimal(value, decimals))

    def shown(end: float, inwards: str) -> str:
        text = in_digits(end)
        if end == none:
            side = inwards if excludes_none else ""
        else:
            side = "" if text != in_digits(none) else ">" if end > none else "<"
        return f"{side}{none:g}" if side else text

    low, high = ends
    return f"[{shown(low, '>')}, {shown(high, '<')}]"


def _factor(log_ratio: float) -> float:
    return math.inf if log_ratio == math.inf else math.exp(log_ratio)


def percent_text(log_ratio: float) -> str:
    """A single figure such as a margin or a noise floor, from a log ratio: `5 %`, `1.6 %`."""
    value = log_percent(log_ratio)
    return f"{decimal(value, decimals_of_one(value))} %"


def difference_text(
    estimate: float, low: float | None = None, high: float | None = None, *, excludes_none: bool = False
) -> str:
    """B against A, from ln(B / A): `+12 % [9, 15]` of A, `-17 % [-19, -15]`; beyond a half `14.7 times [13.1, 16.3]`.

    As many decimals as the interval can bear. An end that is not zero never prints as zero, and one that is zero as
    `excludes_none` says (`_ends_text`).
    """
    if is_times(estimate):
        return times_text(estimate, low, high, excludes_none=excludes_none)
    value, ends = log_percent(estimate), [log_percent(end) for end in (low, high) if end is not None]
    return _percent_of_base(value, ends, sign=True, excludes_none=excludes_none)


def size_text(
    estimate: float, low: float | None = None, high: float | None = None, *, excludes_none: bool = True
) -> str:
    """A difference behind a word that says which way: `SLOWER by 17 % [15, 19]`. From ln(B / A) of at most a half."""
    sign = -1 if estimate < 0 else 1
    value, ends = abs(log_percent(estimate)), [sign * log_percent(end) for end in (low, high) if end is not None]
    return _percent_of_base(value, sorted(ends), sign=False, excludes_none=excludes_none)


def sizes_text(one: float, other: float) -> str:
    """Several differences of one direction, the smallest and the largest: `12 to 17 %`. From ln(B / A)."""
    least, most = sorted((abs(log_percent(one)), abs(log_percent(other))))
    figures = [decimal(value, decimals_of_one(value)) for value in (least, most)]
    return _("{least} to {most} %", least=figures[0], most=figures[1])


def _percent_of_base(value: float, ends: Sequence[float], *, sign: bool, excludes_none: bool) -> str:
    decimals = decimals_of(ends or [value])
    number = decimal(value, decimals)
    figure = f"+{number} %" if sign and round(value, decimals) > 0 else f"{number} %"
    return f"{figure} {_ends_text(ends, decimals, excludes_none=excludes_none)}" if ends else figure
