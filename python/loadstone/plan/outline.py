"""What a run will do, before it starts: its tables, comparisons, crashes, extent and parts."""

from collections.abc import Iterable
from dataclasses import dataclass

from loadstone.message import Message, message
from loadstone.plan.design.conditions import table_conditions, tables_of_mode
from loadstone.plan.design.pairs import conditions_of, places
from loadstone.plan.design.sliceable import AS_WRITTEN
from loadstone.plan.extent import extent
from loadstone.plan.outline_parts import CrashOutline, crashes, parts
from loadstone.plan.remarks import remarks
from loadstone.plan.run_plan import Group, RunPlan
from loadstone.spec.effects_spec import Effects
from loadstone.spec.experiment import Comparison, Experiment, Table
from loadstone.spec.levels import Level, identity, level_text


@dataclass(frozen=True)
class TableOutline:
    """A table that the run fills."""

    line: Message
    note: str


@dataclass(frozen=True)
class ComparisonOutline:
    """A comparison that the run makes."""

    name: str
    question: str
    pairs: Message
    rules: Message
    """What decides, when it is looked at, and how long its trials are."""
    note: str


@dataclass(frozen=True)
class Outline:
    """All of it, with the names of what the experiment has and this run leaves out."""

    tables: list[TableOutline]
    tables_left_out: list[str]
    comparisons: list[ComparisonOutline]
    comparisons_left_out: list[str]
    crashes: list[CrashOutline]
    extent: list[Message]
    parts: list[Message]
    remarks: list[Message]
    """What operations mean, and may not be meant to mean."""
    as_published: str
    """What the original did otherwise, where it is repeated."""


def outline(run_plan: RunPlan, experiment: Experiment) -> Outline:
    """What this run of the experiment will do."""
    tables = [(table, _table(run_plan, experiment, table)) for table in experiment.tables]
    groups = {group.name: group for group in run_plan.groups}
    published = experiment.as_published
    return Outline(
        tables=[line for _, line in tables if line is not None],
        tables_left_out=[table.name for table, line in tables if line is None],
        comparisons=[
            *(
                _comparison(groups[one.name], one, quick=run_plan.quick)
                for one in experiment.comparisons
                if one.name in groups
            ),
            *(_effects(groups[one.name], one) for one in experiment.effects if one.name in groups),
        ],
        comparisons_left_out=[name for name in experiment.compared_names if name not in groups],
        crashes=list(crashes(run_plan, experiment)),
        extent=extent(run_plan),
        parts=list(parts(run_plan, experiment)),
        remarks=remarks(run_plan),
        as_published=published.note if run_plan.as_published and published is not None else "",
    )


def _table(run_plan: RunPlan, experiment: Experiment, table: Table) -> TableOutline | None:
    """None where no row of it is measured for it."""
    planned = {identity(condition) for condition in run_plan.conditions}
    printed = tables_of_mode(experiment, quick=run_plan.quick, as_published=run_plan.as_published)
    rows = [identity(condition) for condition in table_conditions(experiment, table)]
    present = len(planned.intersection(rows)) if table.name in printed else 0
    if not present:
        return None
    line = message(
        "plan_table",
        name=table.name,
        title=table.title,
        rows=present,
        of=len(rows),
        varied=[[name, len(levels)] for name, levels in table.vary.items() if len(levels) > 1],
        fixed=[[name, level_text(levels[0])] for name, levels in table.vary.items() if len(levels) == 1],
    )
    return TableOutline(line, table.note)


def _comparison(group: Group, comparison: Comparison, *, quick: bool) -> ComparisonOutline:
    between = comparison.between
    sides = [(level_text(pair.a[between]), level_text(pair.b[between])) for pair in group.pairs]
    conditions = conditions_of(group.pairs)
    there = {name: _distinct(condition[name] for condition in conditions) for name in places(comparison, quick=quick)}
    pairs = message(
        "plan_pairs",
        pairs=len(group.pairs),
        between=between,
        sides=[list(two) for two in dict.fromkeys(sides)],
        places=[[name, levels] for name, levels in there.items()],
    )
    return ComparisonOutline(comparison.name, comparison.question, pairs, _rules(group), comparison.note)


def _effects(group: Group, effects: Effects) -> ComparisonOutline:
    """What is combined, and how many effects and pairs that makes."""
    conditions = conditions_of(group.pairs)
    levels = [[name, _distinct(condition[name] for condition in conditions)] for name in effects.factors]
    mains = sum(one.kind == "main" for one in group.contrasts)
    made = {"mains": mains, "interactions": len(group.contrasts) - mains, "pairs": len(group.pairs)}
    combined = message("plan_effects", levels=levels, conditions=len(group.conditions), **made)
    return ComparisonOutline(effects.name, effects.question, combined, _rules(group), effects.note)


def _rules(group: Group) -> Message:
    return message(
        "plan_rules",
        metric=group.metric,
        margin=group.margin,
        looks=[group.replicates(look) for look in group.looks],
        stops=group.sequential and len(group.looks) > 1,
        conditions=len(group.conditions),
        trial_s=group.trial_s,
        overhead_s=group.overhead_s,
        slice_s=group.rounds.slice_s if group.rounds else None,
        why_whole=None if group.whole_trials == AS_WRITTEN else group.whole_trials,
        **_rate(group),
        **({"rounds_a_start": group.rounds.of(1)} if group.rounds and group.unit == "block" else {}),
    )


def _rate(group: Group) -> dict[str, float | None]:
    """At which its blocks are driven, or the share of the slowest's capacity; nothing where it has its own load."""
    rate = group.fixed_rate
    return {} if rate is None else {"rate_per_s": rate.rate_per_s, "rate_share": rate.share}


def _distinct(levels: Iterable[Level]) -> list[str]:
    return list(dict.fromkeys(level_text(level) for level in levels))
