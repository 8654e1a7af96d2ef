"""The outcome of `loadstone capacity`: for a terminal, as JSON, and as a picture."""

from collections.abc import Iterator
from typing import Literal

from rich.console import Console

from loadstone.addons.capacity.model.answer import Capacity, CapacityPart, Prediction
from loadstone.judge.verdict import AnalysisModel
from loadstone.machine.extras import require
from loadstone.report import figure_format as fmt
from loadstone.report.document import Block, Paragraph, SectionCell, SectionColumn, SectionTable, TableRow
from loadstone.report.json_report import json_text
from loadstone.report.terminal.sections import line, print_blocks
from loadstone.text.language import _, plural

_BAR = 20
"""Letters of the longest bar of the curve."""


class CapacityReport(AnalysisModel):
    """Every condition of a run, with what was asked."""

    format: Literal[1] = 1
    run: str
    asked: bool
    """Whether predictions were asked for."""
    capacities: list[Capacity]


def to_json(report: CapacityReport) -> str:
    """The whole outcome for programs."""
    return json_text(report)


def show(report: CapacityReport, console: Console, *, short: bool = False) -> None:
    """Print the outcome for a person; `short`: a line a prediction alone."""
    refusals = {None if one.refusal is None else fmt.sentence(one.refusal) for one in report.capacities}
    common = refusals.pop() if len(report.capacities) > 1 and len(refusals) == 1 else None
    for number, capacity in enumerate(report.capacities):
        if short:
            for said in _lines(capacity):
                console.print(line(said), soft_wrap=True)
            continue
        if number:
            console.print()
        at = _("{users}, {rate} a second", users=_users(capacity.users), rate=fmt.rate(capacity.per_s))
        heading = f"{fmt.plain(capacity.label)}: {at}" if capacity.label else _("At {at}", at=at)
        print_blocks(console, heading, _of_one(capacity, refuses=common is None))
    if common is not None and not short:
        print_blocks(console, "", [Paragraph(common, "doubt")])


def _lines(capacity: Capacity) -> Iterator[str]:
    head = f"{fmt.plain(capacity.label)}: " if capacity.label else ""
    if not capacity.predictions:
        yield f"{head}{fmt.sentence(capacity.refusal or capacity.limit)}"
    for one in capacity.predictions:
        yield _(
            "{head}{users}: {rate} requests per second, response {response}",
            head=head,
            users=_users(one.users),
            rate=_rate(one),
            response=_response(one),
        )


def _users(number: int | None) -> str:
    return plural(number or 0, "{count} user", "{count} users", count=fmt.count(number))


def _of_one(capacity: Capacity, *, refuses: bool) -> Iterator[Block]:
    """`refuses`: why nothing is predicted is said of each condition, since it is not one reason for all of them."""
    yield _parts(capacity)
    yield Paragraph(capacity.limit)
    if capacity.waiting_s is not None:
        said = _(
            "A response takes {response}, of it {waiting} on no CPU and in no queue for one (round "
            "trips, wake-ups, disks, locks, timers).",
            response=fmt.duration(1e9 * capacity.response_s),
            waiting=fmt.duration(1e9 * capacity.waiting_s),
        )
        yield Paragraph(said, "note")
    if capacity.refusal is not None:
        if refuses:
            yield Paragraph(capacity.refusal, "doubt")
        return
    if capacity.error is not None and capacity.reach is not None:
        said = _(
            "Model held to levels that it was not fitted on: typical error {error} from {users} "
            "on; best from {best_from} on, where a prediction is within {reach} 95 times in 100. "
            "Only users were held out: of the other changes it says what these costs give.",
            error=fmt.plus_minus(capacity.error),
            users=_users(capacity.checked_from),
            best_from=fmt.count(capacity.best_from),
            reach=fmt.plus_minus(capacity.reach),
        )
        yield Paragraph(said, "note")
    if capacity.predictions:
        yield _predictions(capacity)
    yield from (Paragraph(remark, "doubt") for remark in capacity.remarks)


def _parts(capacity: Capacity) -> SectionTable:
    """A line a part; dashes where nothing is known."""
    heads = (_("part"), _("CPU per request"), _("CPUs"), _("busy"), _("at most"))
    lines = (TableRow(fmt.part_name(part.name), _cells(*_figures(part))) for part in capacity.parts)
    return SectionTable("", tuple(map(SectionColumn, heads)), tuple(lines))


def _figures(part: CapacityPart) -> Iterator[str]:
    cost = part.cost
    ends = None if cost.low_ns is None or cost.high_ns is None else (cost.low_ns, cost.high_ns)
    disk = "" if part.disk_ns is None else _(" + {duration} disk", duration=fmt.duration(part.disk_ns))
    yield f"{fmt.duration(cost.ns)}{fmt.around(cost.ns, ends)}{disk}"
    yield fmt.number(part.cpus)
    busy = fmt.percent(None if part.busy_share is None else min(1.0, part.busy_share))
    if part.shares_with:
        busy += _(" with {plain}", plain=", ".join(map(fmt.part_name, part.shares_with)))
    yield busy
    most = fmt.rate(part.most_per_s)
    if part.most_low_per_s is not None and part.most_high_per_s is not None:
        most += f" [{fmt.rate(part.most_low_per_s)}, {fmt.rate(part.most_high_per_s)}]"
    yield f"{most} /s"


def _predictions(capacity: Capacity) -> SectionTable:
    """A line a number of users, with its rate drawn behind it."""
    measured = any(one.measured_per_s is not None for one in capacity.predictions)
    heads = (_("users"), _("rate /s"), *([_("measured")] if measured else []), _("response"))
    columns = (*map(SectionColumn, heads), *(SectionColumn(head, kind="names") for head in (_("fullest"), _("rate"))))
    most = max(one.per_s for one in capacity.predictions)
    lines = (
        TableRow(
            fmt.count(one.users),
            _cells(
                _rate(one),
                *([fmt.rate(one.measured_per_s)] if measured else []),
                _response(one),
                f"{fmt.plain(one.busiest)} {fmt.percent(one.busy_share)}",
                "▇" * max(1, round(_BAR * one.per_s / most)),
            ),
        )
        for one in capacity.predictions
    )
    return SectionTable("", columns, tuple(lines))


def _cells(*said: str) -> tuple[SectionCell, ...]:
    return tuple(SectionCell(None, said=one) for one in said)


def _rate(one: Prediction) -> str:
    return f"{fmt.rate(one.per_s)} [{fmt.rate(one.low_per_s)}, {fmt.rate(one.high_per_s)}]"


def _response(one: Prediction) -> str:
    figure = 1e9 * one.response_s
    return f"{fmt.duration(figure)}{fmt.around(figure, (1e9 * one.low_s, 1e9 * one.high_s))}"


def svg(report: CapacityReport) -> bytes | None:
    """The curve of the first condition that has one; None where nothing is predicted."""
    require("charts", "--svg")
    from loadstone.addons.capacity.chart import capacity_chart

    capacity = next((one for one in report.capacities if one.predictions), None)
    return None if capacity is None else capacity_chart(capacity).svg()
