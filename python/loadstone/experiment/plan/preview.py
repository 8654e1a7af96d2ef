"""What a run will do, before it starts: its tables, comparisons, crashes, extent and parts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from loadstone.experiment.plan.deployment import factors_of_start
from loadstone.experiment.plan.design.conditions import conditions_of, places, table_conditions, tables_of_mode
from loadstone.experiment.plan.design.interleaving import AS_WRITTEN
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.operation_units import each_of, keys_of, of_plan, reads_keys, unit_of
from loadstone.experiment.plan.operations import Operation, is_one_key, keys_named
from loadstone.experiment.plan.protocols import PROTOCOLS
from loadstone.experiment.plan.run_plan import PlannedTrial, RunPlan
from loadstone.experiment.plan.run_size import extent
from loadstone.experiment.plan.stored_bytes import STORES_NOTHING
from loadstone.experiment.plan.substitute import resolve_factors
from loadstone.experiment.software import is_users
from loadstone.experiment.spec.experiment import (
    ComparisonSpec,
    CrashSpec,
    Effects,
    Experiment,
    TableSpec,
    conditions_varied,
)
from loadstone.experiment.spec.levels import Level, identity, level_text
from loadstone.safety.secrets.known import redacted
from loadstone.text.message import Message, message

Levels = list[list[Any]]
"""Factor and the texts of its levels."""


@dataclass(frozen=True)
class CrashOutline:
    """A crash of the experiment; without a note where it is not tried."""

    line: Message
    note: str


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
class PlanPreview:
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


def preview_plan(run_plan: RunPlan, experiment: Experiment) -> PlanPreview:
    """What this run of the experiment will do."""
    tables = [(table, _table(run_plan, experiment, table)) for table in experiment.tables]
    groups = {group.name: group for group in run_plan.groups}
    published = experiment.as_published
    return PlanPreview(
        tables=[line for _, line in tables if line is not None],
        tables_left_out=[table.name for table, line in tables if line is None],
        comparisons=[
            *(
                _comparison(groups[comparison.name], comparison, quick=run_plan.quick)
                for comparison in experiment.comparisons
                if comparison.name in groups
            ),
            *(_effects(groups[effect.name], effect) for effect in experiment.effects if effect.name in groups),
        ],
        comparisons_left_out=[name for name in experiment.compared_names if name not in groups],
        crashes=list(_crashes(run_plan, experiment)),
        extent=extent(run_plan),
        parts=list(_parts(run_plan, experiment)),
        remarks=remarks(run_plan),
        as_published=published.note if run_plan.as_published and published is not None else "",
    )


def _table(run_plan: RunPlan, experiment: Experiment, table: TableSpec) -> TableOutline | None:
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


def _comparison(group: Group, comparison: ComparisonSpec, *, quick: bool) -> ComparisonOutline:
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
    mains = sum(contrast.kind == "main" for contrast in group.contrasts)
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


def _parts(run_plan: RunPlan, experiment: Experiment) -> Iterator[Message]:
    """A line for each server, subject and data set that a trial of the run needs."""
    trials = run_plan.every_trial
    needed = {name for trial in trials for name in trial.servers}
    for name, settings in experiment.servers.items():
        if name in needed:
            yield message("plan_server", name=name, kind=settings.get("kind"), when=_when(settings.get("when", {})))
    for name in experiment.subjects:
        there = [trial for trial in trials if name in trial.subjects]
        if there:
            yield _subject(experiment, name, there)
    for name in experiment.data:
        written = [data for trial in trials for data in trial.data if data.name == name]
        if written:
            written_to = {data.server for data in written}
            servers = [one.server for one in experiment.data[name].into if one.server in written_to]
            rows = sorted({data.rows for data in written})
            yield message("plan_data", name=name, rows=rows, servers=list(dict.fromkeys(servers)))


def _subject(experiment: Experiment, name: str, trials: list[PlannedTrial]) -> Message:
    """What it is, and what it is started again for; of one of the user's, what it must have been started with."""
    subject, planned = experiment.subjects[name], trials[0].subjects[name]
    when = _when(subject.when)
    if not planned.urls:
        factors = factors_of_start(subject.environment, subject.limits, subject.replicas)
        return message("plan_subject", name=name, manifest=str(subject.manifest), when=when, factors=factors)
    varied = {key: value for key, value in subject.environment.items() if factors_of_start(value)}
    filled = resolve_factors(varied, trials[0].condition, experiment.factors)
    shown = redacted({"environment": filled})["environment"]
    servers = {server: settings for trial in trials for server, settings in trial.servers.items()}
    return message(
        "plan_subject_of_user",
        name=name,
        urls=len(planned.urls),
        when=when,
        varied=[f"{key}={level_text(value)}" for key, value in shown.items()],
        fixed=[key for key in subject.environment if key not in varied],  # their values may be secrets
        unknown=[server for server, settings in servers.items() if not is_users(settings)],
    )


def _crashes(run_plan: RunPlan, experiment: Experiment) -> Iterator[CrashOutline]:
    """Each crash, or why it is not tried."""
    for crash in experiment.crashes:
        tries = [one for one in run_plan.crashes if one.crash.name == crash.name]
        if not tries:
            yield CrashOutline(_not_tried(experiment, crash), "")
            continue
        conditions = len({str(one.trial.condition) for one in tries})
        line = message(
            "plan_crash",
            name=crash.name,
            title=crash.title,
            conditions=conditions,
            of=len(conditions_varied(experiment, crash.vary)),
            times=len(tries) // conditions,
            levels=[[name, [level_text(level) for level in levels]] for name, levels in crash.vary.items()],
        )
        yield CrashOutline(line, crash.note)


def _not_tried(experiment: Experiment, crash: CrashSpec) -> Message:
    if is_users(experiment.servers[crash.server]):
        return message("plan_crash_of_user", name=crash.name, server=crash.server)
    return message("plan_crash_left_out", name=crash.name)


def _when(when: Mapping[str, Any]) -> Levels:
    """The conditions that need it; empty for all."""
    return [
        [factor, [level_text(level) for level in (levels if isinstance(levels, list | tuple) else (levels,))]]
        for factor, levels in when.items()
    ]


def remarks(run_plan: RunPlan) -> list[Message]:
    """A line each: the same key twice, keys that nothing writes, comparisons by keys."""
    plans = {identity(trial.condition): trial.plan for trial in run_plan.every_trial}
    same_keys = [one for plan in plans.values() for one in _same_keys(plan)]
    return [*dict.fromkeys(same_keys), *_nothing_there(plans.values()), *_by_units(run_plan, plans)]


def _same_keys(plan: Plan) -> Iterator[Message]:
    for operation in plan.operations:
        for command in operation.commands:
            name = command.args[0].upper()
            often = Counter(text for text in keys_of(name, command.args[1:]) if is_one_key(text))
            for text, times in often.items():
                if times > 1:
                    figures = {"operation": operation.name, "command": name, "key": text, "times": times}
                    yield message("remark.same_key", **figures)


def _nothing_there(plans: Iterable[Plan]) -> Iterator[Message]:
    """Reads of keys that neither `load` nor an operation writes."""
    names = [operation.name for plan in plans if _finds_nothing(plan) for operation in plan.operations]
    if names:
        yield message("remark.nothing_there", operations=sorted(set(names)))


def _finds_nothing(plan: Plan) -> bool:
    if plan.recording is not None or plan.keys.loaded or plan.misses is not None or not _reads(plan):
        return False
    return not any(_may_write(operation) for operation in plan.operations)


def _reads(plan: Plan) -> bool:
    """Whether an operation reads keys of the plan's: others may have been there before."""
    texts = (text for operation in plan.operations for command in operation.commands for text in command.args)
    return PROTOCOLS[plan.protocol].has_keys and keys_named(texts) > 0 and reads_keys(plan)


def _may_write(operation: Operation) -> bool:
    return any(command.args[0].upper() not in STORES_NOTHING for command in operation.commands)


def _by_units(run_plan: RunPlan, plans: Mapping[str, Plan]) -> Iterator[Message]:
    for group in run_plan.groups:
        units = [of_plan(plans[identity(condition)]) for condition in group.conditions if identity(condition) in plans]
        if group.pairs and group.metric == "units_per_s" and units:
            unit, each = unit_of(one.unit for one in units), each_of(dict(one.each) for one in units)
            yield message("remark.by_units", name=group.name, unit=unit, each=each)
