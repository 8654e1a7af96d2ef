"""The words of a verdict, the same everywhere."""

from loadstone.percents import decimal, decimals_of, decimals_of_one, log_percent


def percent_text(log_ratio: float) -> str:
    """A single figure such as a margin or a noise floor: `5 %`, `1.6 %`."""
    value = log_percent(log_ratio)
    return f"{decimal(value, decimals_of_one(value))} %"


def ratio_text(estimate: float, low: float | None, high: float | None, *, sign: bool = False) -> str:
    """`12 % [9, 15]` from log ratios: as many decimals as the interval can bear, with `sign` a plus before it.

    A bound that is not zero never prints as zero, so that what excludes zero is seen to.
    """
    value = log_percent(estimate)
    ends = [log_percent(end) for end in (low, high) if end is not None]
    decimals = decimals_of(ends or [value])
    number = decimal(value, decimals)
    figure = f"+{number} %" if sign and round(value, decimals) > 0 else f"{number} %"
    return f"{figure} [{', '.join(decimal(end, decimals) for end in ends)}]" if ends else figure


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
