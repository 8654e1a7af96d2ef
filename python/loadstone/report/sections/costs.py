"""What a report shows of whose CPU per request takes within a part: its main thread, the kernel, what it started."""

from collections.abc import Iterator, Mapping, Sequence

from loadstone.judge.verdict import CpuCost
from loadstone.report.document import Paragraph, Section, SectionCell, SectionColumn, SectionTable, TableRow
from loadstone.text.message import message

OTHERS_MIN = 0.05
"""Other threads that take less of a part's CPU than its main thread's clock may be off by are no news."""
CHILDREN_MIN = 0.01
"""Processes that a part started are named from so much of its CPU on."""
_COLUMNS = (
    SectionColumn(message("cost_of_place"), message("cost_of_place_meaning")),
    SectionColumn(message("cost_of_whole"), message("cost_of_whole_meaning")),
    SectionColumn(message("cost_of_main"), message("cost_of_main_meaning")),
    SectionColumn(message("cost_of_others"), message("cost_of_others_meaning")),
    SectionColumn(message("cost_of_user"), message("cost_of_user_meaning")),
    SectionColumn(message("cost_of_system"), message("cost_of_system_meaning")),
    SectionColumn(message("cost_of_children"), message("cost_of_children_meaning")),
)


def cost_section(rows: Sequence[tuple[str, Mapping[str, CpuCost], bool]]) -> Section | None:
    """A line a condition and part of which there is more to tell than its cost; None where there is none.

    `rows`: what a condition is called, its costs, and whether it took turns with others.
    """
    lines = tuple({line.label: line for row in rows for line in _lines(*row)}.values())
    if not lines:
        return None
    return Section(
        name="cost",
        heading=message("cost_of_heading"),
        blocks=(SectionTable("", _COLUMNS, lines), Paragraph(message("cost_of_reading"), "note")),
        in_outcome=False,
    )


def _lines(label: str, costs: Mapping[str, CpuCost], in_turns: bool) -> Iterator[TableRow]:
    for part, cost in costs.items():
        own_ns = cost.ns
        children_ns = cost.children_ns or 0.0
        if not in_turns:
            own_ns -= children_ns
        main_ns, system_ns = cost.main_ns, cost.system_ns
        others_ns = None if main_ns is None else max(0.0, own_ns - main_ns)
        named = children_ns >= CHILDREN_MIN * own_ns
        if not named and system_ns is None and (others_ns or 0.0) < OTHERS_MIN * own_ns:
            continue
        figures = (
            cost.ns,
            main_ns,
            others_ns,
            None if system_ns is None else max(0.0, own_ns - system_ns),
            system_ns,
            cost.children_ns if named else None,
        )
        beside = (message("cost_of_children_beside", part=part, ns=children_ns),) if named and in_turns else ()
        name, short = f"{label}: {part}" if label else part, message("cost_of_short", ns=cost.ns)
        yield TableRow(name, tuple(SectionCell(ns, "ns") for ns in figures), short, beside)
