"""Which terms a report explains; what they mean is in the language's own file."""

from loadstone.judge.analysis.analysis import Analysis
from loadstone.judge.verdict import VerdictKind
from loadstone.report import figure_format as fmt
from loadstone.report.tables import observed
from loadstone.text.english.glossary import TERMS as GROUPS
from loadstone.text.language import translated
from loadstone.text.message import message

_HEADINGS = {
    "comparing": message("glossary_comparing"),
    "verdicts": message("glossary_verdicts"),
    "measuring": message("glossary_measuring"),
    "figures": message("glossary_figures"),
    "application": message("glossary_application"),
    "machine": message("glossary_machine"),
    "checks": message("glossary_checks"),
}
_OF_COMPARISONS = frozenset({"comparing", "verdicts"})
_OF_APPLICATIONS = frozenset({"application", "machine"})

TERMS: dict[str, str] = {term: meaning for group in GROUPS.values() for term, meaning in group.items()}

VERDICT_TERMS: dict[VerdictKind, str] = {
    "faster": "FASTER",
    "equivalent": "EQUIVALENT",
    "mixed": "MIXED",
    "undecided": "UNDECIDED",
    "not_decidable": "NOT DECIDABLE HERE",
    "invalid": "INVALID",
}
"""The term for each kind of verdict, as its sentence spells it."""


def brackets() -> str:
    """What a terminal says beneath the verdicts."""
    return fmt.sentence(message("glossary_brackets"))


def meaning(term: str) -> str:
    """The explanation of a term that a report uses. Raises KeyError for one without."""
    return translated(TERMS[term])


def groups_of(analysis: Analysis) -> dict[str, dict[str, str]]:
    """The terms for this run: those of comparisons and of applications only where there are some."""
    left_out = frozenset() if analysis.families else _OF_COMPARISONS
    if not observed.has_application(analysis):
        left_out |= _OF_APPLICATIONS
    return {
        fmt.sentence(heading): {translated(term): translated(means) for term, means in GROUPS[group].items()}
        for group, heading in _HEADINGS.items()
        if group not in left_out
    }
