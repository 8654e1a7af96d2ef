"""A gate's outcome as lines for a terminal: the verdict, the figures, and the noise floor where a twin showed it."""

from collections.abc import Iterator

from loadstone.addons.gate.result import GateFigure, GateResult
from loadstone.addons.gate.texts import (
    NAMES,
    budget_text,
    change_text,
    faster_text,
    memory_text,
    percent,
    share_text,
    slower_text,
)
from loadstone.report import figure_format as fmt
from loadstone.text.language import _, translated


def gate_lines(result: GateResult) -> Iterator[str]:
    """What a person reads first: `head against main: SLOWER by 6 % [4, 8]: CPU per request`, and a line a figure."""
    yield _(
        "{head} against {base}: {verdict}",
        head=fmt.plain(result.head),
        base=fmt.plain(result.base),
        verdict=fmt.sentence(result.message),
    )
    width = max((len(translated(NAMES[one.name])) for one in result.figures), default=0)
    for one in result.figures:
        said = f"{values_text(one)}: {verdict_text(one, advised=result.advice is not None)}"
        yield f"  {translated(NAMES[one.name]):<{width}}  {said}"
    if result.advice is not None:
        yield f"  {fmt.sentence(result.advice)}"
    if result.twin:
        floor = ", ".join(f"{translated(NAMES[one.name])} {_floor(one)}" for one in result.twin)
        yield "  " + _("noise floor, the base against itself: {floor}", floor=floor)


def values_text(figure: GateFigure) -> str:
    """`26 µs → 28 µs`."""
    return f"{value_text(figure, figure.base)} → {value_text(figure, figure.head)}"


def verdict_text(figure: GateFigure, *, advised: bool = False) -> str:
    """What may be said by one figure, with its interval; where nothing may, what would have been seen.

    `advised`: whether the gate says by itself what would help, so that no figure does.
    """
    if figure.verdict == "invalid":
        return _("invalid: {why}", why=fmt.sentence(figure.why))
    if figure.verdict == "unclaimed":
        return _("nothing is claimed")
    if figure.verdict in ("slower", "faster") and figure.name == "memory":
        return memory_text(figure.change)
    if figure.verdict == "slower":
        return slower_text(figure.change)
    if figure.verdict == "faster":
        return faster_text(figure.change)
    tolerance = percent(figure.tolerance)
    if figure.verdict == "same":
        return _("same within {tolerance} %: {by}", tolerance=tolerance, by=change_text(figure.change))
    if figure.verdict == "not_slower":
        return _("not slower by more than {tolerance} %: {by}", tolerance=tolerance, by=change_text(figure.change))
    return _why_open(figure) if advised else _open(figure)


def _open(figure: GateFigure) -> str:
    if figure.needed is None or figure.needed_s is None:
        return _why_open(figure)
    needs = {"needed": figure.needed, "budget": budget_text(figure.needed_s)}
    if figure.unit_of_units == "round":
        more = _("about {needed} rounds decide it: --budget {budget}", **needs)
    else:
        more = _("about {needed} starts decide it: --budget {budget}", **needs)
    return f"{_why_open(figure)}; {more}"


def _why_open(figure: GateFigure) -> str:
    why = "" if figure.why is None else fmt.sentence(figure.why).rstrip(".")
    by = change_text(figure.change)
    if figure.slower is None:
        return _("open: {why}", why=why) if why else _("open: too few rounds for an interval")
    if why:
        return _("open: {by}: {why}", by=by, why=why)
    if figure.visible is None:
        return _("open: {by}", by=by)
    return _(
        "open: {by}; {visible} or more would have been detected",
        by=by,
        visible=share_text(figure.visible),
    )


def changed(figure: GateFigure) -> str:
    """`-1.2 % [-2.9, 0.4]`, from the base to the head."""
    return fmt.NONE if None in figure.change else change_text(figure.change)


def _floor(figure: GateFigure) -> str:
    return changed(figure) if figure.slower is not None else _("open")


def value_text(figure: GateFigure, value: float | None) -> str:
    """A figure with its unit."""
    if value is None:
        return fmt.NONE
    if figure.unit == "ns":
        return fmt.duration(value)
    return fmt.size(value) if figure.unit == "bytes" else f"{fmt.rate(value)}/s"
