"""What a run will do, in words, before it starts."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping

from loadstone.plan.conditions import table_conditions, tables_of_mode
from loadstone.plan.describe_parts import crashes, listed, parts, preparation
from loadstone.plan.pairs import conditions_of, places
from loadstone.plan.run_plan import TABLE_GROUP, Group, RunPlan
from loadstone.spec.experiment import Comparison, Experiment, Factor, Table
from loadstone.spec.levels import Level, identity, level_text, same_level

_GLUE = "\0%"
"""Stands for ` %` while lines are broken."""


def describe(run_plan: RunPlan, experiment: Experiment, prospects: Mapping[str, str] | None = None) -> str:
    """Question, factors, tables, comparisons and expected length, for `loadstone show`.

    `prospects`: comparison -> a sentence on what it will be able to see.
    """
    return "\n".join(_lines(run_plan, experiment, prospects or {}))


def _lines(run_plan: RunPlan, experiment: Experiment, prospects: Mapping[str, str]) -> Iterator[str]:
    yield experiment.name
    yield from wrapped(experiment.question, 2)
    yield from wrapped(experiment.description, 2)
    yield ""
    yield "Factors (* where neither a table nor a comparison says otherwise)"
    width = max((len(name) for name in experiment.factors), default=0)
    for name, factor in experiment.factors.items():
        yield f"  {name:<{width}}  {_levels(factor)}"
    yield ""
    yield "Tables"
    yield from _tables(run_plan, experiment)
    if experiment.comparisons:
        yield ""
        yield "Comparisons"
        yield from _comparisons(run_plan, experiment, prospects)
    if experiment.crashes:
        yield ""
        yield "Crashes"
        for line in crashes(run_plan, experiment):
            yield from wrapped(line, 0, 4)
    yield ""
    yield from extent(run_plan)
    for line in parts(run_plan, experiment):
        yield from wrapped(line, 0, 2)
    if run_plan.as_published and experiment.as_published is not None:
        yield from wrapped(f"As published: {experiment.as_published.note}", 0)


def extent(run_plan: RunPlan) -> list[str]:
    """How much will be measured, how long that takes, and what follows for the figures."""
    lines = [_measured(run_plan), _time(run_plan)]
    before, before_s = preparation(run_plan), run_plan.preparation_s()
    if before and before_s >= 1:
        lines.append(f"Of that about {duration(before_s)} for {before}")
    if run_plan.crashes:
        number = _count(len(run_plan.crashes), "crash", "crashes")
        lines.append(f"{number} after all trials, about {duration(run_plan.crashes_s())} of that")
    if run_plan.scale != 1:
        share = f"{100 * run_plan.scale:.3g} %"
        phases = ", and phases as much shorter" if run_plan.as_published else ""
        lines.append(f"Scale {share}: users and rows are {share} of those written{phases}")
    if run_plan.quick:
        lines.append("Quick: trials are short, and what they cannot tell is left out")
    tables = [group for group in run_plan.groups if group.name == TABLE_GROUP]
    if len(tables) == len(run_plan.groups):
        blocks = tables[0].looks[-1]
        lines.append(f"{'One block' if blocks == 1 else f'{blocks} blocks'}: the figures describe, nothing is compared")
    elif tables and tables[0].looks[-1] == 1:
        lines.append("What only stands in tables is measured once: it gets no interval, and no verdict")
    return lines


def _levels(factor: Factor) -> str:
    marked = [level_text(level) + ("*" if same_level(level, factor.usual) else "") for level in factor.levels]
    return ", ".join(marked) + (f"  ({factor.title})" if factor.title else "")


def _tables(run_plan: RunPlan, experiment: Experiment) -> Iterator[str]:
    planned = {identity(condition) for condition in run_plan.conditions}
    printed = tables_of_mode(experiment, quick=run_plan.quick, as_published=run_plan.as_published)
    left_out: list[str] = []
    for table in experiment.tables:
        rows = [identity(condition) for condition in table_conditions(experiment, table)]
        present = len(planned.intersection(rows)) if table.name in printed else 0
        if not present:
            left_out.append(table.name)
            continue
        part = f"{present} of {len(rows)}" if present < len(rows) else f"{present}"
        yield f"  {table.name}: {table.title}: {part} rows ({_varied(table)})"
        yield from wrapped(table.note, 4)
    if left_out:
        yield f"  not in this run: {', '.join(left_out)}"


def _varied(table: Table) -> str:
    """`operation 3 x payload 6, workers 1`: how many levels of what, and what is fixed."""
    several = [f"{name} {len(levels)}" for name, levels in table.vary.items() if len(levels) > 1]
    fixed = [f"{name} {level_text(levels[0])}" for name, levels in table.vary.items() if len(levels) == 1]
    return ", ".join(part for part in (" x ".join(several), *fixed) if part)


def _comparisons(run_plan: RunPlan, experiment: Experiment, prospects: Mapping[str, str]) -> Iterator[str]:
    groups = {group.name: group for group in run_plan.groups}
    left_out = [comparison.name for comparison in experiment.comparisons if comparison.name not in groups]
    for comparison in experiment.comparisons:
        group = groups.get(comparison.name)
        if group is None:
            continue
        yield from wrapped(f"{comparison.name}: {comparison.question}", 2, 4)
        yield from wrapped(_pairs(group, comparison, quick=run_plan.quick), 4)
        yield from wrapped(_rules(group), 4)
        yield from wrapped(prospects.get(comparison.name, ""), 4)
        yield from wrapped(comparison.note, 4)
    if left_out:
        yield f"  not in this run: {', '.join(left_out)}"


def _pairs(group: Group, comparison: Comparison, *, quick: bool) -> str:
    """`3 pairs: operation set against update, at payload 100 B, 1 kB, 10 kB; workers 8`."""
    between = comparison.between
    twos = [f"{level_text(pair.a[between])} against {level_text(pair.b[between])}" for pair in group.pairs]
    conditions = conditions_of(group.pairs)
    there = [
        f"{name} {', '.join(_distinct(condition[name] for condition in conditions))}"
        for name in places(comparison, quick=quick)
    ]
    at = f", at {'; '.join(there)}" if there else ""
    return f"{_count(len(group.pairs), 'pair')}: {between} {', '.join(dict.fromkeys(twos))}{at}"


def _rules(group: Group) -> str:
    """What decides, when it is looked at, and how long its trials are."""
    margin = f"less than {100 * group.margin:g} % does not matter"
    looks = listed([str(look) for look in group.looks])
    after = f"judged after {looks} {'block' if group.looks == (1,) else 'blocks'}"
    stop = ", until every pair is decided" if group.sequential and len(group.looks) > 1 else ""
    trials = f"{_count(len(group.conditions), 'trial')} of {group.trial_s:g} s"
    return f"{group.metric} decides, {margin}; {after}{stop}; a block is {trials} (and {group.overhead_s:.2g} s beside)"


def _measured(run_plan: RunPlan) -> str:
    """`83 conditions; tables: 67 in 6 blocks; 4 comparisons; random order (seed 1): 400 to 1200 trials`."""
    parts = [_count(len(run_plan.conditions), "condition")]
    tables = [group for group in run_plan.groups if group.name == TABLE_GROUP]
    compared = [group for group in run_plan.groups if group.name != TABLE_GROUP]
    parts += [f"{len(g.conditions)} of them for tables, {_count(g.looks[-1], 'block')}" for g in tables if compared]
    parts += [_count(g.looks[-1], "block") for g in tables if not compared]
    parts += [_count(len(compared), "comparison")] if compared else []
    first = {group.name: group.looks[0] for group in run_plan.groups}
    least = sum(trial.block <= first[trial.group] for trial in run_plan.trials)
    most = len(run_plan.trials)
    trials = _count(most, "trial") if least == most else f"{least} to {most} trials"
    return f"{'; '.join(parts)}; in random order (seed {run_plan.seed}): {trials}"


def _time(run_plan: RunPlan) -> str:
    """From the first looks to the end of the budget."""
    expected_s, longest_s, budget_s = run_plan.expected_s(), run_plan.longest_s(), run_plan.budget_s
    if budget_s > 0:
        expected_s += run_plan.ending_s() - run_plan.crashes_s()
    if 0 < budget_s < expected_s:
        return (
            f"Time: {duration(budget_s)}, the budget; about {duration(expected_s)} would be needed: what the "
            f"budget does not reach stays undecided, or is not measured{_build(run_plan)}"
        )
    sequential = any(group.sequential for group in run_plan.groups)
    first = " to the first look at every comparison" if sequential else ""
    at_most = f", at most {duration(longest_s)}" if longest_s > 1.01 * expected_s else ""
    if longest_s == budget_s:
        ends = f"; the budget ends it after {duration(budget_s)}, with starts and report"
        return f"Time: about {duration(expected_s)}{first}{ends}{_build(run_plan)}"
    return f"Time: about {duration(expected_s)}{first}{at_most}; {_on_top(run_plan)}"


def _build(run_plan: RunPlan) -> str:
    """A first build is in the budget, and in no expectation."""
    ours = _ours(run_plan)
    return f"; a first build of {listed(ours)} takes its part of that" if ours else ""


def _ours(run_plan: RunPlan) -> list[str]:
    trials = run_plan.every_trial
    return list(dict.fromkeys(name for trial in trials for name, wanted in trial.subjects.items() if not wanted.urls))


def _on_top(run_plan: RunPlan) -> str:
    """What the time does not hold: subjects are started and warmed up in it, and not built."""
    ours = _ours(run_plan)
    if ours:
        return f"starting the servers and a first build of {listed(ours)} come on top"
    return "starting the servers comes on top"


def duration(seconds: float) -> str:
    """`45 s`, `15 min` or `2.5 h`."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def _distinct(levels: Iterable[Level]) -> list[str]:
    return list(dict.fromkeys(level_text(level) for level in levels))


def wrapped(text: str, indent: int = 0, then: int | None = None) -> list[str]:
    """A text as lines of at most 110 characters, those after the first indented by `then`; none without text."""
    below = indent if then is None else then
    lines = textwrap.wrap(
        text.replace(" %", _GLUE),
        110,
        initial_indent=" " * indent,
        subsequent_indent=" " * below,
        break_on_hyphens=False,
    )
    return [line.replace(_GLUE, " %") for line in lines]


def _count(number: int, noun: str, several: str = "") -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {several or noun + 's'}"
