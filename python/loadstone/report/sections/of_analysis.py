"""The sections of an analysis beside its tables, comparisons and saturation points, in the order of the report."""

from collections.abc import Callable
from typing import Any

from loadstone.addons.gate.section import gate_section
from loadstone.judge.analysis.analysis import Analysis
from loadstone.report.document import Section
from loadstone.report.sections.costs import cost_section
from loadstone.report.sections.crashes import crash_section
from loadstone.slot import Slot

SectionOf = Callable[[Any], Section | None]
"""The section of an answer; None: the answer has nothing to say."""
SECTIONS: Slot[SectionOf] = Slot("sections")
"""Those of add-ons' answers, by their keys in `analysis.json`."""


def sections_of(analysis: Analysis) -> list[Section]:
    """What goals beside tables, comparisons and saturation points have to say."""
    crashes = [crash_section(analysis.crashes)] if analysis.crashes else []
    rows = [(row.label, row.costs, row.slices > 0) for table in analysis.tables for row in table.rows]
    costs = [] if (of_costs := cost_section(rows)) is None else [of_costs]
    others = (answer.section(name) for name, answer in analysis.goals.items())
    gate = [] if analysis.gate is None else [gate_section(analysis.gate)]
    found = [
        shown
        for key, section_of in SECTIONS.items()
        if (answer := analysis.parts.get(key)) is not None and (shown := section_of(answer)) is not None
    ]
    first, last = ([section for section in found if section.closes is closing] for closing in (False, True))
    return [*gate, *crashes, *first, *costs, *others, *last]
