"""What a run will do, for a person, before it starts."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from loadstone.experiment.plan.preview import ComparisonOutline, PlanPreview
from loadstone.experiment.spec.experiment import Experiment, Factor
from loadstone.experiment.spec.levels import level_text, same_level
from loadstone.text.language import of_author
from loadstone.text.message import Message, message
from loadstone.text.sentences import render_message

_WIDTH = 110
_GLUE = "\0%"
"""Stands for ` %` while lines are broken."""


def description(outline: PlanPreview, experiment: Experiment, prospects: Mapping[str, Message] | None = None) -> str:
    """Question, factors, tables, comparisons and expected length, for `loadstone show`.

    `prospects`: comparison -> which difference it will be able to show.
    """
    return "\n".join(_lines(outline, experiment, prospects or {}))


def announcement(experiment: Experiment, extent: Sequence[Message], shortcomings: Sequence[Message]) -> list[str]:
    """The question, how much is measured in what time, and which comparisons may get no verdict."""
    lines = [of_author(experiment.question), *map(render_message, extent), *map(render_message, shortcomings)]
    return [part for line in lines for part in wrapped(line, then=2)]


def _lines(outline: PlanPreview, experiment: Experiment, prospects: Mapping[str, Message]) -> Iterator[str]:
    yield experiment.name
    yield from wrapped(of_author(experiment.question), 2)
    yield from wrapped(of_author(experiment.description), 2)
    yield from ("", render_message(message("plan_factors")))
    width = max((len(name) for name in experiment.factors), default=0)
    for name, factor in experiment.factors.items():
        yield f"  {name:<{width}}  {_levels(factor)}"
        yield from wrapped(_off_by_default(name, factor), width + 4)
    yield from ("", render_message(message("plan_tables")))
    for table in outline.tables:
        yield f"  {render_message(table.line)}"
        yield from wrapped(of_author(table.note), 4)
    yield from _left_out(outline.tables_left_out)
    if experiment.compared_names:
        yield from ("", render_message(message("plan_comparisons")))
        for comparison in outline.comparisons:
            yield from _comparison(comparison, prospects.get(comparison.name))
        yield from _left_out(outline.comparisons_left_out)
    if experiment.crashes:
        yield from ("", render_message(message("plan_crash_heading")))
        for crash in outline.crashes:
            yield from wrapped(f"  {render_message(crash.line)}", 0, 4)
            yield from wrapped(f"    {of_author(crash.note)}" if crash.note else "", 0, 4)
    yield ""
    yield from map(render_message, outline.extent)
    for part in outline.parts:
        yield from wrapped(render_message(part), 0, 2)
    for remark in outline.remarks:
        yield from wrapped(render_message(remark), 0, 2)
    if outline.as_published:
        yield from wrapped(render_message(message("plan_as_published", note=outline.as_published)), 0)


def _levels(factor: Factor) -> str:
    marked = [level_text(level) + ("*" if same_level(level, factor.usual) else "") for level in factor.on_by_default]
    return ", ".join(marked) + (f"  ({of_author(factor.title)})" if factor.title else "")


def _off_by_default(name: str, factor: Factor) -> str:
    """Empty where every level is on."""
    if not factor.off_by_default:
        return ""
    levels = {"levels": list(map(level_text, factor.levels)), "off": list(map(level_text, factor.off_by_default))}
    return render_message(message("plan_off_by_default", factor=name, **levels))


def _comparison(comparison: ComparisonOutline, prospect: Message | None) -> Iterator[str]:
    yield from wrapped(f"{comparison.name}: {of_author(comparison.question)}", 2, 4)
    for line in (
        render_message(comparison.pairs),
        render_message(comparison.rules),
        render_message(prospect),
        of_author(comparison.note),
    ):
        yield from wrapped(line, 4)


def _left_out(names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"  {render_message(message('plan_left_out', names=list(names)))}"


def wrapped(line: str, indent: int = 0, then: int | None = None) -> list[str]:
    """A text as lines of at most 110 characters, those after the first indented by `then`; none without text."""
    below = indent if then is None else then
    lines = textwrap.wrap(
        line.replace(" %", _GLUE),
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * below,
        break_on_hyphens=False,
    )
    return [part.replace(_GLUE, " %") for part in lines]
