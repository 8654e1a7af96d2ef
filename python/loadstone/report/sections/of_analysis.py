"""The sections of an analysis beside its tables, comparisons and saturation points, in the order of the report."""

from collections.abc import Callable
from typing import Any

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
    found = [
        shown
        for key, section_of in SECTIONS.items()
        if (answer := analysis.parts.get(key)) is not None and (shown := section_of(answer)) is not None
    ]
    leading = [section for section in found if section.leads]
    closing = [section for section in found if section.closes]
    middle = [section for section in found if not (section.leads or section.closes)]
    return [*leading, *crashes, *middle, *costs, *others, *closing]
