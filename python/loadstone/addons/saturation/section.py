"""What every report says of a saturation: the answer in figures, the limit with its evidence, a table of points."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from loadstone.addons.saturation.results import Estimated, SaturationAnswer, SaturationAnswers, SaturationPoint
from loadstone.addons.saturation.spec import latency_objective
from loadstone.report import figure_format as fmt
from loadstone.report.document import (
    Finding,
    Only,
    Section,
    SectionCell,
    SectionColumn,
    SectionTable,
    Shown,
    TableRow,
)
from loadstone.report.tables.column import cost_text
from loadstone.text.language import _, plural
from loadstone.text.message import Message, message
from loadstone.text.sentences import render_message

MARKS = {"plateau": "●", "peak": "▲", "limit": "●", "at_least": "◐", "none": "○"}
LATENCIES = (("mean", "MTT"), ("p50", "P50"), ("p99", "P99"))


def title(answer: SaturationAnswer) -> str:
    """The condition; where nothing is varied, what is found."""
    return fmt.plain(answer.label) or render_message(message("saturation_title"))


def load_of(point: SaturationPoint) -> float | None:
    """Users, or the rate that was to be held."""
    return point.users if point.users is not None else point.rate_per_s


def point_load_text(point: SaturationPoint) -> str:
    """`16 users`, `40,000 a second offered`."""
    if point.users is not None:
        return plural(point.users, "{users} user", "{users} users", users=fmt.count(point.users))
    return _("{rate} a second offered", rate=fmt.rate(point.rate_per_s))


def found_load(answer: SaturationAnswer) -> Estimated | None:
    """Where along the load the answer lies: users of the closed model, the rate of the open one."""
    if answer.kind in ("at_least", "none"):
        return None
    return answer.users if answer.model == "closed" else answer.per_s


def estimate_text(found: Estimated | None) -> str:
    """`98,200 [97,100, 99,400]`."""
    if found is None:
        return fmt.NONE
    return f"{fmt.rate(found.value)} [{fmt.rate(found.low)}, {fmt.rate(found.high)}]"


def load_text(answer: SaturationAnswer, found: Estimated) -> str:
    """Return the load with what it counts."""
    if answer.model == "closed":
        return _("{figure} users", figure=estimate_text(found))
    return _("{figure} a second", figure=estimate_text(found))


def objective_ns(answer: SaturationAnswer) -> float | None:
    """The latency that the objective allows."""
    if answer.objective is None:
        return None
    try:
        return 1e9 * latency_objective(answer.objective.text).latency_s
    except ValueError:  # written by a version that knows others
        return None


def limiting_part(answer: SaturationAnswer) -> str:
    """The name of the fullest part, where it is the limit and not the pool, the disk or nothing at all."""
    if answer.limiting is None or not answer.limiting.shares:
        return ""
    limit = answer.limiting.bottleneck
    named = limit.part in ("server", "subject", "generator") and limit.message.kind != "bottleneck_unseen"
    return answer.limiting.shares[0].part if named else ""


def facts(answer: SaturationAnswer) -> list[tuple[str, str]]:
    """What is asked of a saturation beside its verdict, each with its answer, the most important first."""
    return [(fmt.sentence(name), fmt.sentence(said)) for name, said in _facts(answer)]


def _facts(answer: SaturationAnswer) -> Iterator[tuple[Message, Message]]:
    if answer.model == "closed":
        yield from _curve(answer)
    if answer.model == "closed" and answer.objective is not None:
        yield message("saturation_fact_objective"), answer.objective.message
    yield message("saturation_fact_limit"), _limit(answer)


def _curve(answer: SaturationAnswer) -> Iterator[tuple[Message, Message]]:
    """The levels with what each did; none of fewer than two."""
    levels = {point.users: point.per_s for point in answer.points if point.users is not None and point.per_s > 0}
    if len(levels) > 1:
        said = message("saturation_curve", users=list(levels), rates=list(levels.values()))
        yield message("saturation_fact_curve"), said


def _limit(answer: SaturationAnswer) -> Message:
    found = answer.limiting
    if found is None:
        return message("saturation_not_known")
    next_one = None if found.runner_up is None else fmt.plain(found.runner_up)
    return message(
        "saturation_limit_named",
        why=found.bottleneck.message,
        runner_up=next_one,
        share=found.runner_up_share,
        users=found.users,
        rate_per_s=found.rate_per_s,
    )


def _measured(answer: SaturationAnswer) -> Message:
    return message(
        "saturation_measured",
        model=answer.model,
        sweeps=answer.sweeps,
        levels=len(answer.points),
        rounds=answer.rounds_a_sweep,
        seconds=answer.seconds,
    )


def spoken(answer: SaturationAnswer) -> str:
    """What stands beside the answer, for someone who cannot see the picture."""
    return " ".join(f"{name}: {said}." for name, said in facts(answer))


def _basis(answer: SaturationAnswer) -> Message:
    """The way it was measured: the sweeps, the least response time that the knee rests on, and the search."""
    parts = [_measured(answer)]
    if answer.unloaded_s is not None:
        figures = {"unloaded_ns": 1e9 * answer.unloaded_s, "think_ns": 1e9 * answer.think_s}
        parts.append(message("saturation_unloaded", users=answer.unloaded_users or 1, **figures))
    if (search := _search(answer)) is not None:
        parts.append(search)
    return message("sentences", parts=parts)


def _search(answer: SaturationAnswer) -> Message | None:
    """The steps of the search with their rates, and why it ended."""
    if not answer.search.points:
        return None
    of_users = answer.search.points[0].users is not None
    steps = [
        message(
            "saturation_search_step", users=point.users, rate_per_s=point.rate_per_s, per_s=point.per_s, kept=point.kept
        )
        for point in answer.search.points
    ]
    return message("saturation_search", steps=steps, of_users=of_users, why=answer.search.why)


def part_names(answers: Sequence[SaturationAnswer]) -> list[str]:
    """Every part whose CPU was observed, each once."""
    return list(dict.fromkeys(part for answer in answers for point in answer.points for part in point.cpu))


def _heads(answer: SaturationAnswer) -> list[str]:
    """Columns of the table of points."""
    load = _("users") if answer.model == "closed" else _("offered a second")
    parts = [_("{plain} CPU", plain=fmt.part_name(part)) for part in part_names([answer])]
    cost = [_("CPU per request")] if _has_costs(answer) else []
    spread = [_("sweeps from .. to")] if _has_sweeps(answer) else []
    return [load, _("a second"), *spread, *(name for _, name in LATENCIES), _("errors"), *parts, *cost]


def _figures(answer: SaturationAnswer, point: SaturationPoint) -> list[str]:
    """One line of it."""
    load = fmt.count(point.users) if point.users is not None else fmt.rate(point.rate_per_s)
    ends = f"{fmt.rate(point.low)} .. {fmt.rate(point.high)}" if point.sweeps > 1 else fmt.NONE
    spread = [ends] if _has_sweeps(answer) else []
    latencies = [fmt.duration(getattr(point.response_ns, field, None)) for field, _ in LATENCIES]
    cpu = [fmt.percent(point.cpu.get(part)) for part in part_names([answer])]
    cost = [cost_text(point.costs, ends=False) or fmt.NONE] if _has_costs(answer) else []
    return [load, fmt.rate(point.per_s), *spread, *latencies, fmt.percent(point.errors), *cpu, *cost]


def _has_sweeps(answer: SaturationAnswer) -> bool:
    return any(point.sweeps > 1 for point in answer.points)


def _has_costs(answer: SaturationAnswer) -> bool:
    return any(point.costs for point in answer.points)


def _ramp(answer: SaturationAnswer) -> Iterator[Message]:
    """What a classical ramp of the same condition says, beside the point that was measured."""
    ramp = answer.ramp
    if ramp is None:
        return
    steps = ramp.steps
    yield message(
        "ramp_driven",
        users=steps[-1].users if steps else 0,
        seconds=steps[-1].to_s if steps else 0.0,
        steps=len(steps),
    )
    yield message("ramp_eye", users=ramp.eye_users, per_s=ramp.eye_per_s)
    yield message("ramp_kneedle", users=ramp.knee_users, per_s=ramp.knee_per_s)
    yield ramp.message


def ramp_lines(answer: SaturationAnswer) -> list[str]:
    """What a classical ramp says, as text; none where none was driven."""
    return [fmt.sentence(one) for one in _ramp(answer)]


def saturation_section(found: SaturationAnswers) -> Section | None:
    """A finding a condition."""
    if not found.root:
        return None
    return Section(
        name="saturation",
        heading=message("saturation_heading"),
        blocks=tuple(map(_finding, found.root)),
    )


def _finding(answer: SaturationAnswer) -> Finding:
    remarks = tuple(_ramp(answer))
    return Finding(
        condition=answer.label,
        title=title(answer),
        kind=answer.kind,
        mark=MARKS[answer.kind],
        verdict=answer.message,
        facts=tuple(_facts(answer)),
        brief=_limit(answer),
        tone="good" if answer.kind in ("plateau", "peak", "limit") else "open",
        shown=(Shown("saturation"), *([Shown("ramp", remarks)] if remarks else ())),
        rests_on=(*_shares(answer), *_levels(answer)),
        note=_basis(answer),
        style="saturation",
        basis=message("saturation_basis"),
    )


def _shares(answer: SaturationAnswer) -> Iterator[Only]:
    """A table of how full each part was at three loads, the fullest first; none where nothing shows it."""
    if answer.limiting is None or not answer.limiting.shares:
        return
    heads = (
        message("saturation_share_part"),
        message("saturation_share_unloaded"),
        message("saturation_share_knee"),
        message("saturation_share_beyond"),
    )
    lines = (
        TableRow(
            fmt.part_name(share.part),
            tuple(SectionCell(full, "share") for full in (share.unloaded, share.knee, share.beyond)),
        )
        for share in answer.limiting.shares
    )
    yield Only(
        ("page", "markdown"), (SectionTable("", tuple(map(SectionColumn, heads)), tuple(lines), style="shares"),)
    )


def _levels(answer: SaturationAnswer) -> Iterator[Only]:
    """A row a point; why one is doubted has room on the page alone. None without one."""
    if answer.points:
        lines = tuple(_level(answer, point) for point in answer.points)
        table = SectionTable("", tuple(map(SectionColumn, _heads(answer))), lines, style="levels")
        yield Only(("page",), (table,))
        without = tuple(replace(line, problems=()) for line in lines)
        yield Only(("markdown", "terminal"), (replace(table, lines=without),))


def _level(answer: SaturationAnswer, point: SaturationPoint) -> TableRow:
    load, *figures = _figures(answer, point)
    cells = tuple(SectionCell(None, said=figure) for figure in figures)
    return TableRow(load, cells, problems=tuple(point.reasons), verdict=point.verdict)
