"""The sections of an analysis beside its tables and comparisons, in the order of the report."""

from collections.abc import Callable, Iterator
from typing import Any

from loadstone.judge.analysis.analysis import Analysis, UnknownGoalAnswer
from loadstone.report.document import Section
from loadstone.report.sections.checks import checks_section
from loadstone.report.sections.costs import cost_section
from loadstone.report.sections.crashes import crash_section
from loadstone.report.sections.observed import observed_section
from loadstone.report.sections.timeline import timeline_section
from loadstone.report.sections.trials import trials_section
from loadstone.slot import Slot

SectionOf = Callable[[Any], Section | None]
"""The section of an answer; None: the answer has nothing to say."""
SECTIONS: Slot[SectionOf] = Slot("sections")
"""Those of add-ons' answers, by their keys in `analysis.json`."""
GOAL_SECTIONS: Slot[Callable[[str, Any], Section]] = Slot("goal_sections")
"""Those of the goals that experiments declare, by their kinds: made of the goal's name and its answer."""


def sections_of(analysis: Analysis) -> list[Section]:
    """What goals beside tables and comparisons have to say; without those that have findings."""
    crashes = [crash_section(analysis.crashes)] if analysis.crashes else []
    rows = [(row.label, row.costs, row.slices > 0) for table in analysis.tables for row in table.rows]
    costs = [] if (of_costs := cost_section(rows)) is None else [of_costs]
    others = [
        section_of(name, answer)
        for name, answer in analysis.goals.items()
        if (section_of := GOAL_SECTIONS.get(answer.kind)) is not None and not isinstance(answer, UnknownGoalAnswer)
    ]
    found = [section for section in _of_add_ons(analysis) if not section.findings]
    leading = [section for section in found if section.leads]
    closing = [section for section in found if section.closes]
    middle = [section for section in found if not (section.leads or section.closes)]
    rest = (observed_section, timeline_section, checks_section, trials_section)
    behind = [section for make in rest if (section := make(analysis)) is not None]
    return [*leading, *crashes, *middle, *costs, *others, *closing, *behind]


def findings_of(analysis: Analysis) -> list[Section]:
    """The sections that have findings: they stand before all others, unfolded."""
    return [section for section in _of_add_ons(analysis) if section.findings]


def _of_add_ons(analysis: Analysis) -> Iterator[Section]:
    for key, section_of in SECTIONS.items():
        answer = analysis.known_part(key)
        if answer is not None and (section := section_of(answer)) is not None:
            yield section
