"""The values of the picture of a saturation: points, bounds, and where the answer lies."""

from dataclasses import dataclass
from math import ceil, floor, log, log2

from loadstone.analyse.saturation.saturation_answer import SaturationAnswer, SaturationPoint
from loadstone.report import format as fmt
from loadstone.report import saturation_view as view
from loadstone.report.charts.chart import Values, tip

LATENCIES = {"P50": "p50", "P99": "p99"}
"""What is drawn of the response time, and its name in the record."""
_ROOM_X, _ROOM_Y = 1.12, 1.14
_IDEAL_POINTS = 48


@dataclass(frozen=True)
class SaturationValues:
    """What the panels draw, by the names that they call it."""

    of_users: bool
    axis_title: str
    domain: tuple[float, float]
    ticks: list[float]
    top_per_s: float
    top_share: float
    parts: list[str]
    limit: str
    """The part that was the limit, where its CPU is drawn."""
    knee_place: float | None
    """Where the answer lies along the axis, from 0 to 1."""
    datasets: dict[str, Values]


def values_of(answer: SaturationAnswer) -> SaturationValues | None:
    """None where no point was measured."""
    of_users = answer.model == "closed"
    points = [point for point in answer.points if (view.load_of(point) or 0) > 0]
    if not points:
        return None
    loads = [view.load_of(point) or 0.0 for point in points]
    domain = (min(loads) / _ROOM_X, max(max(loads) * _ROOM_X, min(loads) * 2))
    limit = view.limiting_part(answer)
    found = view.found_load(answer)
    most = answer.per_s.value if answer.per_s is not None and of_users else answer.at_least_per_s
    highest = max([most or 0.0, *(point.high for point in points)])
    cpu = [one for point in points for one in _cpu_points(point, limit)]
    knee: Values = []
    if found is not None:
        short = f"{fmt.rate(found.value)} {'users' if of_users else 'a second'}"
        label = view.load_text(answer, found)
        knee = [{"x": found.value, "low": found.low, "high": found.high, "label": label, "short": short}]
    return SaturationValues(
        of_users=of_users,
        axis_title="users (log scale, base 2)" if of_users else "offered a second (log scale)",
        domain=domain,
        ticks=_ticks(domain, of_users=of_users),
        top_per_s=_ROOM_Y * highest or 1.0,
        top_share=1.08 * max([1.0, *(one["share"] for one in cpu)]),
        parts=list(dict.fromkeys(one["part"] for one in cpu)),
        limit=limit if any(one["limit"] for one in cpu) else "",
        knee_place=None if found is None else _place(found.value, domain),
        datasets={
            "points": [_point(point) for point in points],
            "latencies": [one for point in points for one in _latencies(point)],
            "cpu": cpu,
            "knee": knee,
            "most": _most(answer, most),
            "one": [{"share": 1}],
            "objective": _objective(answer),
            **_ideal(answer, domain, _ROOM_Y * highest, most),
        },
    )


def _ticks(domain: tuple[float, float], *, of_users: bool) -> list[float]:
    """Powers of two; of rates those of ten, with their double and fivefold."""
    low, high = domain
    if of_users:
        return [float(2**step) for step in range(max(0, ceil(log2(low))), floor(log2(high)) + 1)]
    exponents = range(floor(log(low, 10)), ceil(log(high, 10)) + 1)
    return [tick for power in exponents for step in (1, 2, 5) if low <= (tick := step * 10.0**power) <= high]


def _place(value: float, domain: tuple[float, float]) -> float:
    low, high = map(log, domain)
    return (log(value) - low) / (high - low)


def _point(point: SaturationPoint) -> dict[str, object]:
    note = " ".join(map(fmt.sentence, point.reasons))
    interval = f"{fmt.rate(point.low)} to {fmt.rate(point.high)}" if point.sweeps > 1 else ""
    said = tip(
        load=view.point_load_text(point),
        rate=f"{fmt.rate(point.per_s)} a second",
        sweeps=interval,
        verdict="" if point.verdict == "valid" else point.verdict,
        note=note,
    )
    return {
        "x": view.load_of(point), "per_s": point.per_s, "low": point.low, "high": point.high,
        "verdict": point.verdict, "tip": said,
    }  # fmt: skip


def _latencies(point: SaturationPoint) -> Values:
    found = [(name, getattr(point.response_ns, field, None)) for name, field in LATENCIES.items()]
    load = view.point_load_text(point)
    return [
        {"x": view.load_of(point), "quantile": name, "ns": ns, "tip": tip(load=load, **{name: fmt.duration(ns)})}
        for name, ns in found
        if ns and point.verdict != "invalid"
    ]


def _cpu_points(point: SaturationPoint, limit: str) -> Values:
    load = view.point_load_text(point)
    return [
        {
            "x": view.load_of(point), "part": fmt.plain(part), "share": share, "limit": part == limit,
            "tip": tip(load=load, **{fmt.plain(part): fmt.percent(share)}),
        }
        for part, share in point.cpu.items()
    ]  # fmt: skip


def _most(answer: SaturationAnswer, most: float | None) -> Values:
    if most is None:
        return []
    if answer.per_s is None:
        said = f"at least {fmt.rate(most)} a second"
        return [{"per_s": most, "label": said, "short": said}]
    name = "peak" if answer.kind == "peak" else "X_max"
    long = f"{name} = {view.estimate_text(answer.per_s)} a second"
    said = f"{name} = {fmt.rate(most)} a second"
    return [{"per_s": most, "label": long, "short": said}]


def _objective(answer: SaturationAnswer) -> Values:
    limit_ns = view.objective_ns(answer)
    if answer.objective is None or limit_ns is None:
        return []
    return [{"ns": limit_ns, "label": fmt.plain(answer.objective.text)}]


def _ideal(answer: SaturationAnswer, domain: tuple[float, float], top: float, most: float | None) -> dict[str, Values]:
    """What throughput and response time would be if no one ever waited for another one."""
    empty: dict[str, Values] = {"ideal": [], "ideal_label": [], "ideal_ns": []}
    low, high = domain
    loads = [low * (high / low) ** (step / _IDEAL_POINTS) for step in range(_IDEAL_POINTS + 1)]
    if answer.model == "open":
        end = min(high, top)
        line: Values = [{"x": x, "per_s": x} for x in [*(x for x in loads if x < end), end]]
        return {**empty, "ideal": line}
    if not answer.unloaded_s:
        return empty
    cycle_s = answer.unloaded_s + answer.think_s
    end = min(high, top * cycle_s)
    line = [{"x": x, "per_s": x / cycle_s} for x in [*(x for x in loads if x < end), end] if x >= low]
    half = 0.62 * (most or top) * cycle_s
    label: Values = []
    if _place(half, domain) > 0.2:
        label = [{"x": half, "per_s": half / cycle_s, "label": f"N / {'(R + Z)' if answer.think_s else 'R'}"}]
    below: Values = []
    if answer.per_s is not None and answer.kind == "plateau":
        below = [{"x": x, "ns": 1e9 * max(answer.unloaded_s, x / answer.per_s.value - answer.think_s)} for x in loads]
    return {"ideal": line, "ideal_label": label, "ideal_ns": below}
