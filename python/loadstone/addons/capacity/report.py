"""The outcome of `loadstone capacity`: for a terminal, as JSON, and as a picture."""

from collections.abc import Iterator
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from loadstone.addons.capacity.model.answer import Capacity, CapacityPart, Prediction
from loadstone.judge.verdict import AnalysisModel
from loadstone.machine.extras import require
from loadstone.report import figure_format as fmt
from loadstone.report.json_report import json_text
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
    for number, capacity in enumerate(report.capacities):
        if short:
            for line in _lines(capacity):
                console.print(Text(line), soft_wrap=True)
            continue
        if number:
            console.print()
        for piece in _of_one(capacity):
            console.print(piece)


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


def _of_one(capacity: Capacity) -> Iterator[Table | Text]:
    at = _("{users}, {rate} a second", users=_users(capacity.users), rate=fmt.rate(capacity.per_s))
    yield Text(f"{fmt.plain(capacity.label)}: {at}" if capacity.label else _("At {at}", at=at), style="bold")
    yield _parts(capacity)
    yield Text(fmt.sentence(capacity.limit))
    if capacity.waiting_s is not None:
        yield Text(
            _(
                "A response takes {response}, of it {waiting} on no CPU and in no queue for one (round "
                "trips, wake-ups, disks, locks, timers).",
                response=fmt.duration(1e9 * capacity.response_s),
                waiting=fmt.duration(1e9 * capacity.waiting_s),
            ),
            style="dim",
        )
    if capacity.refusal is not None:
        yield Text(fmt.sentence(capacity.refusal), style="yellow")
        return
    if capacity.error is not None and capacity.reach is not None:
        yield Text(
            _(
                "Model held to levels that it was not fitted on: typical error {error} from {users} "
                "on; best from {best_from} on, where a prediction is within {reach} 95 times in 100. "
                "Only users were held out: of the other changes it says what these costs give.",
                error=fmt.plus_minus(capacity.error),
                users=_users(capacity.checked_from),
                best_from=fmt.count(capacity.best_from),
                reach=fmt.plus_minus(capacity.reach),
            ),
            style="dim",
        )
    if capacity.predictions:
        yield _predictions(capacity)
    for remark in capacity.remarks:
        yield Text(fmt.sentence(remark), style="yellow")


def _parts(capacity: Capacity) -> Table:
    grid = _grid((_("part"), _("CPU a request"), _("CPUs"), _("busy"), _("at most")))
    for part in capacity.parts:
        grid.add_row(*part_cells(part))
    return grid


def part_cells(part: CapacityPart) -> tuple[str, str, str, str, str]:
    """The columns of a part; dashes where nothing is known."""
    cost = part.cost
    ends = None if cost.low_ns is None or cost.high_ns is None else (cost.low_ns, cost.high_ns)
    disk = "" if part.disk_ns is None else _(" + {duration} disk", duration=fmt.duration(part.disk_ns))
    busy = fmt.percent(None if part.busy_share is None else min(1.0, part.busy_share))
    if part.shares_with:
        busy += _(" with {plain}", plain=", ".join(map(fmt.part_name, part.shares_with)))
    most = fmt.rate(part.most_per_s)
    if part.most_low_per_s is not None and part.most_high_per_s is not None:
        most += f" [{fmt.rate(part.most_low_per_s)}, {fmt.rate(part.most_high_per_s)}]"
    return (
        fmt.part_name(part.name),
        f"{fmt.duration(cost.ns)}{fmt.around(cost.ns, ends)}{disk}",
        fmt.number(part.cpus),
        busy,
        f"{most} /s",
    )


def _predictions(capacity: Capacity) -> Table:
    measured = any(one.measured_per_s is not None for one in capacity.predictions)
    grid = _grid(("users", _("rate /s"), *(("measured",) if measured else ()), "response", "fullest", "rate"))
    most = max(one.per_s for one in capacity.predictions)
    for one in capacity.predictions:
        grid.add_row(
            fmt.count(one.users),
            _rate(one),
            *((fmt.rate(one.measured_per_s),) if measured else ()),
            _response(one),
            f"{fmt.plain(one.busiest)} {fmt.percent(one.busy_share)}",
            "▇" * max(1, round(_BAR * one.per_s / most)),
        )
    return grid


def _rate(one: Prediction) -> str:
    return f"{fmt.rate(one.per_s)} [{fmt.rate(one.low_per_s)}, {fmt.rate(one.high_per_s)}]"


def _response(one: Prediction) -> str:
    figure = 1e9 * one.response_s
    return f"{fmt.duration(figure)}{fmt.around(figure, (1e9 * one.low_s, 1e9 * one.high_s))}"


def _grid(heads: tuple[str, ...]) -> Table:
    grid = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="dim")
    for number, head in enumerate(heads):
        grid.add_column(head, justify="left" if not number or head in ("fullest", "rate") else "right", no_wrap=True)
    return grid


def svg(report: CapacityReport) -> bytes | None:
    """The curve of the first condition that has one; None where nothing is predicted."""
    require("charts", "--svg")
    from loadstone.addons.capacity.chart import capacity_chart

    capacity = next((one for one in report.capacities if one.predictions), None)
    return None if capacity is None else capacity_chart(capacity).svg()
