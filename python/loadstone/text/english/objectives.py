"""Objectives that a run or a comparison misses, or that cannot be judged."""

from collections.abc import Callable, Sequence

from loadstone.text.english.figures import figure, figure_text, interval, is_rate
from loadstone.text.figures import difference_text, digits
from loadstone.text.language import _, translatable, translated

_WHAT = {
    "condition": translatable("condition"),
    "comparison": translatable("comparison"),
    "point": translatable("search for a saturation point"),
}


def _nothing(objective: str, what: str, where: Sequence[str]) -> str:
    levels = _(" where {where}", where=", ".join(where)) if where else ""
    return _(
        "'{objective}': cannot be decided: there is no {what}{levels}",
        objective=objective,
        what=translated(_WHAT[what]),
        levels=levels,
    )


def _no_trial(name: str, objective: str, reasons: Sequence[str]) -> str:
    return _(
        "{name}: '{objective}': cannot be decided: no valid trial: {joined}",
        name=name,
        objective=objective,
        joined=_joined(reasons),
    )


def _not_measured(name: str, objective: str, reasons: Sequence[str]) -> str:
    return _(
        "{name}: '{objective}': cannot be decided: {joined}", name=name, objective=objective, joined=_joined(reasons)
    )


def _joined(reasons: Sequence[str]) -> str:
    return "; ".join(reason.rstrip(".") for reason in reasons) or _("it was not measured")


def _missed(
    name: str, objective: str, metric: str, value: float, low: float | None, high: float | None, suspect: bool
) -> str:
    measured = figure_text(value, metric) + ("/s" if is_rate(metric) else "")
    ends = "" if low is None or high is None else f" [{figure_text(low, metric)}, {figure_text(high, metric)}]"
    return _missed_by(name, objective, f"{measured}{ends}", suspect)


def _missed_by(name: str, objective: str, figure: str, suspect: bool) -> str:
    said = _("{name}: '{objective}': missed: {figure}", name=name, objective=objective, figure=figure)
    return _("{said} (suspect)", said=said) if suspect else said


def _missed_at_rate(
    name: str, objective: str, metric: str, value: float, rate_per_s: float | None, suspect: bool
) -> str:
    figure = figure_text(value, metric)
    if rate_per_s is None:
        return _missed_by(name, objective, _("{figure} at a fixed rate", figure=figure), suspect)
    return _missed_by(name, objective, _("{figure} at {rate:,.0f}/s", figure=figure, rate=rate_per_s), suspect)


def _not_at_rate(name: str, objective: str, reasons: Sequence[str]) -> str:
    return _(
        "{name}: '{objective}': cannot be decided at a fixed rate: {joined}",
        name=name,
        objective=objective,
        joined=_joined(reasons),
    )


def _missed_errors(name: str, objective: str, failed_share: float, suspect: bool) -> str:
    return _missed_by(name, objective, f"{digits(100 * failed_share)} %", suspect)


def _pair(a: str, b: str, place: str) -> str:
    pair = _("{b} against {a}", b=b, a=a)
    return f"{place}, {pair}" if place else pair


def _missed_ratio(pair: str, objective: str, estimate: float, low: float, high: float) -> str:
    return _(
        "{pair}: '{objective}': missed: {ratio}",
        pair=pair,
        objective=objective,
        ratio=difference_text(estimate, low, high),
    )


def _beyond(pair: str, objective: str, estimate: float, low: float, high: float) -> str:
    ratio = difference_text(estimate, low, high)
    return _(
        "{pair}: '{objective}': cannot be decided: {ratio} lies on both sides of it",
        pair=pair,
        objective=objective,
        ratio=ratio,
    )


def _point(figures: Sequence[float] | None, least: float, of_users: bool) -> str:
    """`16.2 [15.4, 17.3] users`, or `at least 5,000 a second`."""
    if figures is None and of_users:
        return _("at least {figure} users", figure=figure(least))
    if figures is None:
        return _("at least {figure} a second", figure=figure(least))
    if of_users:
        return _("{interval} users", interval=interval(figures))
    return _("{interval} a second", interval=interval(figures))


def _missed_point(name: str, objective: str, figures: Sequence[float] | None, least: float, of_users: bool) -> str:
    return _(
        "{name}: '{objective}': missed: {point}", name=name, objective=objective, point=_point(figures, least, of_users)
    )


def _beyond_point(name: str, objective: str, figures: Sequence[float] | None, least: float, of_users: bool) -> str:
    point = _point(figures, least, of_users)
    if figures is None:
        return _(
            "{name}: '{objective}': cannot be decided: {point}, which may be more",
            name=name,
            objective=objective,
            point=point,
        )
    return _(
        "{name}: '{objective}': cannot be decided: {point}, which lies on both sides of it",
        name=name,
        objective=objective,
        point=point,
    )


OBJECTIVES: dict[str, str | Callable[..., str]] = {
    "objective_nothing": _nothing,
    "objective_no_trial": _no_trial,
    "objective_not_measured": _not_measured,
    "objective_no_figure": lambda name, objective, parts=(): (
        _("{name}: '{objective}': cannot be decided: there is no such figure", name=name, objective=objective)
        + (_("; parts with a cost are {parts}", parts=", ".join(parts)) if parts else "")
    ),
    "objective_may_be_ours": "of {figure_ns:latency} at most {own_ns:latency} is the generator's own",
    "objective_quantile_unmeasurable": "{name}: '{objective}': cannot be decided: {why}",
    "objective_missed": _missed,
    "objective_missed_at_rate": _missed_at_rate,
    "objective_not_at_rate": _not_at_rate,
    "objective_missed_errors": _missed_errors,
    "objective_missed_point": _missed_point,
    "objective_beyond_point": _beyond_point,
    "objective_no_point": "{name}: '{objective}': cannot be decided: {why}",
    "objective_pair": _pair,
    "objective_not_compared": (
        "{pair}: '{objective}': cannot be decided: it was not compared; --metric {metric} gives the reason"
    ),
    "objective_no_interval": "{pair}: '{objective}': cannot be decided: {verdict}",
    "objective_missed_ratio": _missed_ratio,
    "objective_beyond": _beyond,
}
