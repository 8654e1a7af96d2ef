"""The picture of an answer that comes nearer: the interval of a pair at each look, against the margin.

Rounds run to the right on a log scale, since each look needs about half as many again; the difference runs upwards. The
interval stands as a bar at each look, and between looks as the band that the bars lie in. Whatever lies beyond the
picture is drawn up to its edge, with an arrow: the newest interval decides how far it reaches.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.addons.pages.frame import PictureFrame
from loadstone.addons.pages.live_view import Compared, LiveVerdict

FRAME = PictureFrame.within(380, 168, left=52, right=14, top=12, bottom=26)
_REACH = tuple(math.log1p(share) for share in (0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 2, 4, 9, 99, 999))
"""How far the picture reaches up, and as far down as a ratio: +100 % and -50 %."""


@dataclass(frozen=True)
class Bar:
    """The interval at a look."""

    x: float
    low: float
    high: float
    estimate: float | None
    cut_low: bool
    cut_high: bool
    count: int
    newest: bool


@dataclass(frozen=True)
class Narrowing:
    """What is drawn, in pixels."""

    bars: list[Bar]
    band: str
    """The outline of what the bars lie in; empty for fewer than two."""
    zero: float
    margin_top: float
    margin_bottom: float
    margin: float
    """A share."""
    reach: float
    """A log ratio."""
    looks: list[tuple[float, int, bool]]
    """Where it is looked at, at how many rounds, and whether that number has room to be printed."""
    kind: str
    frame: PictureFrame = FRAME


def narrowing(group: Compared, looks: Sequence[LiveVerdict]) -> Narrowing:
    """The picture of one pair; without a look only the margin and where the looks will be."""
    margin = math.log1p(looks[-1].margin if looks else group.margin)
    counts = sorted({*group.planned, *(look.count for look in looks)}) or [1]
    shown = [look for look in looks if look.low is not None or look.high is not None]
    reach = _reach(shown, margin)

    def x(count: float) -> float:
        if len(counts) == 1:
            return (FRAME.left + FRAME.right) / 2
        share = math.log(count / counts[0]) / math.log(counts[-1] / counts[0])
        return round(FRAME.left + 10 + share * (FRAME.across - 24), 1)

    def y(ratio: float) -> float:
        middle = (FRAME.top + FRAME.bottom) / 2
        return round(middle - max(-1.0, min(1.0, ratio / reach)) * FRAME.up / 2, 1)

    bars = [
        Bar(
            x=x(look.count),
            low=y(-math.inf if look.low is None else look.low),
            high=y(math.inf if look.high is None else look.high),
            estimate=None if look.estimate is None or abs(look.estimate) > reach else y(look.estimate),
            cut_low=look.low is None or look.low < -reach,
            cut_high=look.high is None or look.high > reach,
            count=look.count,
            newest=look is shown[-1],
        )
        for look in shown
    ]
    outline = [(bar.x, bar.high) for bar in bars] + [(bar.x, bar.low) for bar in reversed(bars)]
    return Narrowing(
        bars=bars,
        band=" ".join(f"{px},{py}" for px, py in outline) if len(bars) > 1 else "",
        zero=y(0),
        margin_top=y(margin),
        margin_bottom=y(-margin),
        margin=math.expm1(margin),
        reach=reach,
        looks=_with_room([(x(count), count) for count in counts]),
        kind=looks[-1].kind if looks else "undecided",
    )


def share(log_ratio: float) -> str:
    """`+12 %`, of a log ratio; from ten times on `×10`."""
    if log_ratio >= math.log(9.999):
        return f"×{math.exp(log_ratio):,.4g}"
    return f"{100 * math.expm1(log_ratio):+.3g} %".replace("-", "−")


def _reach(shown: Sequence[LiveVerdict], margin: float) -> float:
    """Room for the newest interval and the margin, by steps: it stays the same for as long as it fits."""
    ends = [abs(end) for end in (shown[-1].low, shown[-1].high) if end is not None] if shown else []
    needed = 1.12 * max([2 * margin, *ends])
    return next((step for step in _REACH if step >= needed), _REACH[-1])


def _with_room(places: Sequence[tuple[float, int]]) -> list[tuple[float, int, bool]]:
    """The last number is always printed, and of the others those that do not touch."""
    found: list[tuple[float, int, bool]] = []
    last = places[-1][0]
    taken = -math.inf
    for px, count in places:
        roomy = px - taken >= 26 and (px == last or last - px >= 26)
        if roomy:
            taken = px
        found.append((px, count, roomy))
    return found
