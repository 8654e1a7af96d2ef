"""What a report shows of where the capacity goes: a line a condition."""

from collections.abc import Sequence

from loadstone.addons.capacity.model.answer import Capacity
from loadstone.report.document import Cell, Column, Line, Section, SectionTable
from loadstone.text.message import message

_COLUMNS = (
    Column(message("capacity_condition"), message("capacity_condition_meaning")),
    Column(message("capacity_users"), message("capacity_users_meaning")),
    Column(message("capacity_first"), message("capacity_first_meaning")),
    Column(message("capacity_most"), message("capacity_most_meaning")),
    Column(message("capacity_next"), message("capacity_next_meaning")),
    Column(message("capacity_most"), message("capacity_most_meaning")),
)


def capacity_section(capacities: Sequence[Capacity]) -> Section:
    """What fills first under each condition, and what next."""
    return Section(
        name="capacity",
        heading=message("capacity_heading"),
        tables=(SectionTable("", _COLUMNS, tuple(map(_line, capacities))),),
        reading=message("capacity_reading"),
        in_outcome=False,
    )


def _line(capacity: Capacity) -> Line:
    cells = [Cell(capacity.users)]
    for place in range(2):
        if place < len(capacity.limits):
            limit = capacity.limits[place]
            said = message("capacity_filled", name=limit.name, busy_share=limit.busy_share)
            cells += [Cell(limit.busy_share, "share", said=said), Cell(limit.most_per_s, "per_s")]
        else:
            cells += [Cell(None), Cell(None)]
    fails = capacity.refusal is not None and capacity.refusal.kind == "capacity_model_fails"
    problems = (capacity.refusal,) if fails and capacity.refusal is not None else ()
    return Line(capacity.label or "-", tuple(cells), capacity.limit, problems)
