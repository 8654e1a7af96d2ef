"""The figures of metrics as text, by the format that each declares."""

from collections.abc import Callable, Mapping

from loadstone.report import format as fmt
from loadstone.software.metric import Format

Text = Callable[[float | None], str]


def _plain(value: float) -> str:
    """A figure of vmstat or a count: whole from 10 on."""
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.1f}"


def _mebibytes(kibibytes: float) -> str:
    return f"{kibibytes / 1024:,.0f}"


def _hit_rate(percent: float) -> str:
    """Two decimals: 99.98 % of the hits is not all of them."""
    return f"{percent:.2f} %"


def _or_none(text: Callable[[float], str]) -> Text:
    return lambda value: fmt.NONE if value is None else text(value)


TEXT: Mapping[Format, Text] = {
    "plain": _or_none(_plain),
    "rate": fmt.rate,
    "count": fmt.count,
    "percent": fmt.percent,
    "hit_rate": _or_none(_hit_rate),
    "size": fmt.size,
    "mebibytes": _or_none(_mebibytes),
    "seconds": _or_none(lambda value_s: fmt.duration(value_s * 1e9)),
}
