"""What stands behind the figures: the environment, how to run it again, and what the terms mean."""

from collections.abc import Iterator

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report import figure_format as fmt
from loadstone.report import glossary, summary
from loadstone.report.document import Block, Code, FactsBlock, Only, Paragraph, Section
from loadstone.text.language import _

_UNITS = {"_bytes": fmt.size, "_s": fmt.seconds, "_ns": fmt.duration}


def environment_section(analysis: Analysis) -> Section:
    """The record of the environment; nested keys are joined by dots."""
    values = analysis.environment
    plain = tuple(_fact(key, value) for key, value in values.items() if not isinstance(value, dict) and key != "format")
    groups = [(key, tuple(_facts(value))) for key, value in values.items() if isinstance(value, dict)]
    groups += [("further", plain)] if plain else []
    blocks: tuple[Block, ...] = tuple(FactsBlock(summary.check_title(heading), facts) for heading, facts in groups)
    return Section(
        "environment",
        _("Environment"),
        blocks or (Paragraph(_("No record of the environment.")),),
        hint=_("machine, kernel, versions, placement"),
        layouts=("page",),
    )


def _facts(values: dict[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _facts(value, f"{prefix}{key}.")
        else:
            yield _fact(f"{prefix}{key}", value)


def _fact(name: str, value: object) -> tuple[str, str]:
    """A name and its value as text; the unit that the name ends in goes to the value."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        for end, text in _UNITS.items():
            if name.endswith(end):
                return summary.check_title(name.removesuffix(end)), text(value)
    return summary.check_title(name), _value_text(value)


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_value_text(item) for item in value) or fmt.NONE
    return fmt.NONE if value is None else fmt.plain(str(value))


def reproduction_section(analysis: Analysis) -> Section:
    """The commands that make the run again."""
    blocks = (Only(("page",), (Paragraph(_("On a machine like this one:")),)), Code(tuple(summary.reproduce(analysis))))
    return Section("reproduce", _("How to reproduce"), blocks, layouts=("page", "markdown"))


def terms_section(analysis: Analysis) -> Section:
    """The glossary."""
    groups = glossary.groups_of(analysis).items()
    blocks = tuple(FactsBlock(heading, tuple(terms.items()), style="terms") for heading, terms in groups)
    return Section("terms", _("What the terms mean"), blocks, layouts=("page", "markdown"))
