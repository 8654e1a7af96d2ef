"""What a report shows of where the capacity goes, a line a condition, and of what full servers do at most."""

from loadstone.addons.capacity.full_server_rates import FullServerRates, FullServers
from loadstone.addons.capacity.model.answer import Capacities, Capacity
from loadstone.experiment.plan.run_plan import FULL_SERVERS
from loadstone.report.document import Paragraph, Section, SectionCell, SectionColumn, SectionTable, TableRow
from loadstone.text.message import message

_CAPACITY_COLUMNS = (
    SectionColumn(message("capacity_condition"), message("capacity_condition_meaning")),
    SectionColumn(message("capacity_users"), message("capacity_users_meaning")),
    SectionColumn(message("capacity_first"), message("capacity_first_meaning")),
    SectionColumn(message("capacity_most"), message("capacity_most_meaning")),
    SectionColumn(message("capacity_next"), message("capacity_next_meaning")),
    SectionColumn(message("capacity_most"), message("capacity_most_meaning")),
)


def capacity_section(capacities: Capacities) -> Section:
    """What fills first under each condition, and what next."""
    return Section(
        name="capacity",
        heading=message("capacity_heading"),
        blocks=(
            SectionTable("", _CAPACITY_COLUMNS, tuple(map(_capacity_line, capacities.root))),
            Paragraph(message("capacity_reading"), "note"),
        ),
        in_outcome=False,
    )


def _capacity_line(capacity: Capacity) -> TableRow:
    cells = [SectionCell(capacity.users)]
    for place in range(2):
        if place < len(capacity.limits):
            limit = capacity.limits[place]
            said = message("capacity_filled", name=limit.name, busy_share=limit.busy_share)
            cells += [SectionCell(limit.busy_share, "share", said=said), SectionCell(limit.most_per_s, "per_s")]
        else:
            cells += [SectionCell(None), SectionCell(None)]
    fails = capacity.refusal is not None and capacity.refusal.kind == "capacity_model_fails"
    problems = (capacity.refusal,) if fails and capacity.refusal is not None else ()
    return TableRow(capacity.label or "-", tuple(cells), capacity.limit, problems)


_FULL_COLUMNS = (
    SectionColumn(message("full_place"), message("full_place_meaning")),
    SectionColumn(message("full_server"), message("full_server_meaning")),
    SectionColumn(message("full_figure_head"), message("full_figure_head_meaning")),
    SectionColumn(message("full_low"), message("full_low_meaning")),
    SectionColumn(message("full_high"), message("full_high_meaning")),
    SectionColumn(message("full_how"), message("full_how_meaning")),
    SectionColumn(message("full_users"), message("full_users_meaning")),
    SectionColumn(message("full_busy"), message("full_busy_meaning")),
)
_HOW = {
    "measured": message("full_measured"),
    "estimated": message("full_estimated"),
    "refused": message("full_unknown"),
}


def full_server_section(found: FullServers) -> Section:
    """A line for each place and server. In the few lines that end a run it stands in the headline, or nowhere."""
    return Section(
        name=FULL_SERVERS,
        heading=message("full_heading"),
        blocks=(
            SectionTable("", _FULL_COLUMNS, tuple(map(_full_line, found.root))),
            Paragraph(message("full_reading"), "note"),
        ),
        in_outcome=False,
    )


def _full_line(one: FullServerRates) -> TableRow:
    found = one.capacity
    known = found.per_s is not None
    cells = (
        SectionCell(None, said=message("full_name", server=one.server)),
        SectionCell(found.per_s, "per_s"),
        SectionCell(found.low_per_s, "per_s"),
        SectionCell(found.high_per_s, "per_s"),
        SectionCell(None, said=message("full_without", taken=found.taken) if found.taken else _HOW[found.how]),
        SectionCell(found.users),
        SectionCell(found.busy, "share"),
    )
    short = message("full_short", server=one.server, figure=one.said)
    return TableRow(one.label or one.server, cells, short, () if known else (one.said,))
