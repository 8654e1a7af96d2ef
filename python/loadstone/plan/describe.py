"""What a run will do, in words, before it starts."""

import textwrap
from collections.abc import Iterator

from loadstone.plan.conditions import identity, table_conditions
from loadstone.plan.run_plan import RunPlan
from loadstone.spec.experiment import Experiment, Factor, Table
from loadstone.spec.levels import level_text, same_level


def describe(run_plan: RunPlan, experiment: Experiment) -> str:
    """Question, factors, tables, number of trials and expected length, for `loadstone show`."""
    return "\n".join(_lines(run_plan, experiment))


def _lines(run_plan: RunPlan, experiment: Experiment) -> Iterator[str]:
    yield experiment.name
    yield from _wrapped(experiment.question, 2)
    yield from _wrapped(experiment.description, 2)
    yield ""
    yield "Factors (* where a table does not vary it)"
    width = max((len(name) for name in experiment.factors), default=0)
    for name, factor in experiment.factors.items():
        yield f"  {name:<{width}}  {_levels(factor)}"
    yield ""
    yield "Tables"
    yield from _tables(run_plan, experiment)
    yield ""
    yield from _extent(run_plan)
    for name, settings in experiment.servers.items():
        yield f"Server {name}: {settings.get('kind', 'of no kind')}"
    if run_plan.as_published and experiment.as_published is not None:
        yield from _wrapped(f"As published: {experiment.as_published.note}", 0)


def _levels(factor: Factor) -> str:
    marked = [level_text(level) + ("*" if same_level(level, factor.usual) else "") for level in factor.levels]
    return ", ".join(marked) + (f"  ({factor.title})" if factor.title else "")


def _tables(run_plan: RunPlan, experiment: Experiment) -> Iterator[str]:
    planned = {identity(condition) for condition in run_plan.conditions}
    left_out: list[str] = []
    for table in experiment.tables:
        rows = [identity(condition) for condition in table_conditions(experiment, table)]
        present = len(planned.intersection(rows))
        if not present:
            left_out.append(table.name)
            continue
        part = f"{present} of {len(rows)}" if present < len(rows) else f"{present}"
        yield f"  {table.name}: {table.title}: {part} rows ({_varied(table)})"
        yield from _wrapped(table.note, 4)
    if left_out:
        yield f"  not in this run: {', '.join(left_out)}"


def _varied(table: Table) -> str:
    """`operation 3 x payload 6, workers 1`: how many levels of what, and what is fixed."""
    several = [f"{name} {len(levels)}" for name, levels in table.vary.items() if len(levels) > 1]
    fixed = [f"{name} {level_text(levels[0])}" for name, levels in table.vary.items() if len(levels) == 1]
    return ", ".join(part for part in (" x ".join(several), *fixed) if part)


def _extent(run_plan: RunPlan) -> Iterator[str]:
    conditions, trials = len(run_plan.conditions), len(run_plan.trials)
    blocks = trials // conditions
    yield (
        f"{_count(conditions, 'condition')}, {_count(blocks, 'block')} in random order (seed {run_plan.seed}): "
        f"{_count(trials, 'trial')}"
    )
    expected_s, longest_s = run_plan.expected_s(), run_plan.longest_s()
    at_most = f", at most {_duration(longest_s)}" if longest_s > 1.01 * expected_s else ""
    yield f"Load: about {_duration(expected_s)}{at_most}; preparing the data and the servers comes on top"
    if run_plan.quick:
        yield "Quick: trials are short, and what they cannot tell is left out"
    if blocks == 1:
        yield "One block: the figures describe, nothing is compared"


def _wrapped(text: str, indent: int) -> list[str]:
    """A text as lines of at most 110 characters; none where there is no text."""
    return textwrap.wrap(text, 110, initial_indent=" " * indent, subsequent_indent=" " * indent)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _duration(seconds: float) -> str:
    """`45 s`, `15 min` or `2.5 h`."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"
