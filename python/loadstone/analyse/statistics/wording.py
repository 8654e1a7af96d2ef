"""The words of a verdict, the same everywhere; and log ratios as per cent."""

import math

DECIMALS_MAX = 3


def percent(log_ratio: float) -> float:
    """A log ratio in per cent more (or less): ln 1.12 is 12."""
    return 100 * math.expm1(log_ratio)


def percent_text(log_ratio: float) -> str:
    """A single figure such as a margin or a noise floor: `5 %`, `1.6 %`."""
    value = percent(log_ratio)
    return f"{_number(value, 0 if abs(value) >= 10 or math.isclose(value, round(value), abs_tol=0.005) else 1)} %"


def ratio_text(estimate: float, low: float | None, high: float | None, *, sign: bool = False) -> str:
    """`12 % [9, 15]` from log ratios: as many decimals as the interval can bear, with `sign` a plus before it.

    A bound that is not zero never prints as zero, so that what excludes zero is seen to.
    """
    value = percent(estimate)
    ends = [percent(end) for end in (low, high) if end is not None]
    decimals = _decimals(ends or [value])
    number = _number(value, decimals)
    figure = f"+{number} %" if sign and round(value, decimals) > 0 else f"{number} %"
    return f"{figure} [{', '.join(_number(end, decimals) for end in ends)}]" if ends else figure


def minutes_text(minutes: float) -> str:
    """The range in which the time still needed will lie: half to twice the estimate."""
    low, high = minutes / 2, minutes * 2
    decimals = 0 if low >= 1 else 1
    return f"about {max(low, 0.1):.{decimals}f} to {max(high, 0.2):.{decimals}f} more minutes"


def blocks_text(blocks: int) -> str:
    """`1 block`, `8 blocks`."""
    return f"{blocks} block" if blocks == 1 else f"{blocks} blocks"


def figure_text(value: float) -> str:
    """A check's figure or limit: three digits, and a whole number in full."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _decimals(values: list[float]) -> int:
    """Two figures of the interval's width (or of a single value), and more where one would print as zero."""
    finite = [value for value in values if math.isfinite(value)]
    width = max(finite) - min(finite) if len(finite) > 1 else abs(sum(finite))
    decimals = 0 if width >= 3 else 1 if width >= 0.3 else 2
    while decimals < DECIMALS_MAX and any(value and not round(value, decimals) for value in finite):
        decimals += 1
    return decimals


def _number(value: float, decimals: int) -> str:
    """A number without a minus before zero; `inf` without end."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{round(value, decimals) + 0.0:.{decimals}f}"
