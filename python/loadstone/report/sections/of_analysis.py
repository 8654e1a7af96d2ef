"""The report of an analysis: its sections, in their order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report.document import Document, Layout, Section
from loadstone.report.sections.behind import environment_section, reproduction_section, terms_section
from loadstone.report.sections.checks import checks_section
from loadstone.report.sections.costs import cost_section
from loadstone.report.sections.crashes import crash_section
from loadstone.report.sections.effects import effects_section
from loadstone.report.sections.observed import observed_section
from loadstone.report.sections.opening import figures_section
from loadstone.report.sections.results import cost_picture, main_section, results_section
from loadstone.report.sections.timeline import timeline_section
from loadstone.report.sections.trials import trials_section
from loadstone.report.sections.verdicts import comparisons_section, opening_pictures, verdicts_section
from loadstone.slot import Slot
from loadstone.text.language import language

SectionOf = Callable[[Any], Section | None]
"""The section of an answer; None: the answer has nothing to say."""
SECTIONS: Slot[SectionOf] = Slot("sections")
"""Those of add-ons' answers, by their keys in `analysis.json`."""
_latest: tuple[Analysis, str, Document] | None = None
"""The report that was made last, of which analysis and in which language: its layouts print the same."""


def document_of(analysis: Analysis) -> Document:
    """The whole report."""
    global _latest
    latest = _latest
    if latest is None or latest[0] is not analysis or latest[1] != language():
        made = (section for make in ORDER for section in _made(make(analysis)))
        latest = _latest = (analysis, language(), Document(tuple(made)))
    return latest[2]


def _made(found: Section | Iterable[Section] | None) -> Iterable[Section]:
    return () if found is None else [found] if isinstance(found, Section) else found


def _leading(analysis: Analysis) -> list[Section]:
    return [section for section in _of_add_ons(analysis) if section.leads]


def _findings(analysis: Analysis) -> list[Section]:
    return [section for section in _of_add_ons(analysis) if section.findings]


def _others(analysis: Analysis) -> list[Section]:
    return [one for one in _of_add_ons(analysis) if not (one.leads or one.closes or one.findings)]


def _closing(analysis: Analysis) -> list[Section]:
    return [section for section in _of_add_ons(analysis) if section.closes]


def _of_add_ons(analysis: Analysis) -> Iterator[Section]:
    for key, section_of in SECTIONS.items():
        answer = analysis.known_part(key)
        if answer is not None and (section := section_of(answer)) is not None:
            yield section


def _crashes(analysis: Analysis) -> Section | None:
    return crash_section(analysis.crashes) if analysis.crashes else None


def _costs(analysis: Analysis) -> Section | None:
    return cost_section([(row.label, row.costs, row.slices > 0) for table in analysis.tables for row in table.rows])


def _in(layout: Layout, make: Callable[[Analysis], Section]) -> Callable[[Analysis], Section]:
    """A section that stands at another place in each layout."""
    return lambda analysis: replace(make(analysis), layouts=(layout,))


ORDER: Sequence[Callable[[Analysis], Section | Iterable[Section] | None]] = (
    _leading,
    effects_section,
    _findings,
    opening_pictures,
    figures_section,
    verdicts_section,
    cost_picture,
    main_section,
    comparisons_section,
    results_section,
    _crashes,
    _others,
    _costs,
    _closing,
    observed_section,
    timeline_section,
    checks_section,
    trials_section,
    environment_section,
    _in("page", reproduction_section),
    terms_section,
    _in("markdown", reproduction_section),
)
"""What makes the sections, in the order in which they stand; on the page, those that are open before those folded."""
