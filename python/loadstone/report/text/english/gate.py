"""What a gate says."""

from collections.abc import Callable, Sequence

from loadstone.figures import digits
from loadstone.language import _, marked, translated

NAMES = {
    "rate": marked("requests a second"),
    "cpu": marked("CPU a request"),
    "p99": marked("P99 at the same rate"),
    "memory": marked("memory"),
}
"""What the figures of a gate are called."""


def percent(share: float) -> str:
    """`6`, `0.8`: a share in per cent, with two digits at most."""
    value = 100 * share
    return f"{value:.0f}" if abs(value) >= 9.95 else digits(round(value, 1)) if value else "0"


def by_text(by: Sequence[float | None]) -> str:
    """`6 % [4, 8]`."""
    middle, low, high = by
    if middle is None:
        return ""
    ends = "" if low is None or high is None else f" [{percent(low)}, {percent(high)}]"
    return f"{percent(middle)} %{ends}"


def _slower(figure: str, by: Sequence[float | None], others: Sequence[str]) -> str:
    said = _("SLOWER by {by}: {figure}", by=by_text(by), figure=translated(NAMES[figure]))
    if figure == "memory":
        said = _("TAKES {by} MORE memory", by=by_text(by))
    return f"{said}{_also(others)}"


def _faster(figure: str, by: Sequence[float | None], others: Sequence[str]) -> str:
    said = _("FASTER by {by}: {figure}", by=by_text(by), figure=translated(NAMES[figure]))
    return f"{said}{_also(others)}"


def _also(others: Sequence[str]) -> str:
    return _("; also {figures}", figures=_list(others)) if others else ""


def _list(figures: Sequence[str]) -> str:
    return ", ".join(translated(NAMES[name]) for name in figures)


def _same(tolerance: float, figures: Sequence[str]) -> str:
    return _("same within {tolerance} %: {figures}", tolerance=percent(tolerance), figures=_list(figures))


def _undecided(visible: float | None) -> str:
    if visible is None:
        return _("NOT DECIDABLE HERE (too little was measured: give it a longer --budget)")
    return _("NOT DECIDABLE HERE (a difference of {visible} % would have been seen)", visible=percent(visible))


def _twin_differs(figure: str, slower: Sequence[float | None]) -> str:
    return _(
        "INVALID: the base differs from itself by {by} ({figure}), so nothing is claimed of the head",
        by=by_text(slower),
        figure=translated(NAMES[figure]),
    )


GATE: dict[str, str | Callable[..., str]] = {
    "gate_slower": _slower,
    "gate_faster": _faster,
    "gate_same": _same,
    "gate_undecided": _undecided,
    "gate_twin_differs": _twin_differs,
    "gate_refused": "INVALID: {reason} ({check})",
    "gate_nothing": "INVALID: nothing was measured",
}
