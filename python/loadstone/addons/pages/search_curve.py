"""The curve of a search for the saturation point, as far as it is known: users or rate offered to the right, TPS up."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from loadstone.addons.pages.frame import PictureFrame
from loadstone.report import figure_format as fmt

FRAME = PictureFrame.within(460, 220, left=64, right=16, top=12, bottom=40)
_TICKS = 4
_ROOM = 40.0
"""Pixels between two numbers of an axis."""


@dataclass(frozen=True)
class SearchCurve:
    """What is drawn of one condition, in pixels."""

    label: str
    offered: bool
    """The axis to the right has rates, not users."""
    line: str
    points: list[tuple[float, float, str]]
    """Each step, with what it says."""
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]
    frame: PictureFrame = FRAME


def search_curves(steps: Iterable[Mapping[str, Any]]) -> list[SearchCurve]:
    """A curve for each condition that has two steps or more."""
    found: dict[tuple[str, bool], dict[float, float]] = {}
    for step in steps:
        key = "users" if step["rate_per_s"] is None else "rate_per_s"
        load, per_s = step[key], step["per_s"]
        if load is not None and per_s is not None and load > 0 and per_s >= 0:
            found.setdefault((step["label"], key != "users"), {})[load] = per_s  # the newest of a load
    return [_curve(label, offered, one) for (label, offered), one in found.items() if len(one) > 1]


def _curve(label: str, offered: bool, steps: Mapping[float, float]) -> SearchCurve:
    loads = sorted(steps)
    first, last, most = math.log(loads[0]), math.log(loads[-1]), max(steps.values()) or 1.0
    step = _round_step(most / _TICKS)
    reach = step * math.ceil(most / step)

    def x(load: float) -> float:
        return round(FRAME.left + 10 + (math.log(load) - first) / (last - first) * (FRAME.across - 20), 1)

    def y(per_s: float) -> float:
        return round(FRAME.bottom - per_s / reach * FRAME.up, 1)

    text = fmt.rate if offered else fmt.count
    across: list[tuple[float, str]] = []
    for load in loads:
        if not across or x(load) - across[-1][0] >= _ROOM:
            across.append((x(load), text(load)))
    return SearchCurve(
        label=label,
        offered=offered,
        line=" ".join(f"{x(load)},{y(steps[load])}" for load in loads),
        points=[(x(load), y(steps[load]), f"{text(load)}: {fmt.rate(steps[load])}") for load in loads],
        across=across,
        up=[(y(step * n), fmt.rate(step * n)) for n in range(round(reach / step) + 1)],
    )


def _round_step(least: float) -> float:
    """1, 2 or 5 times a power of ten, `least` or more."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * 0.999)
