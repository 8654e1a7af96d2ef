"""The design of a run: its groups, randomised complete blocks, and the plan of every trial."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from loadstone.experiment.plan.crashes import plan_crashes
from loadstone.experiment.plan.deployment import check_started_by_user
from loadstone.experiment.plan.design.conditions import (
    NumberedCondition,
    Only,
    all_conditions,
    chosen_levels,
    has_levels,
    pairs_of_mode,
    rows_of_mode,
    select,
)
from loadstone.experiment.plan.design.groups import (
    DesignOfMode,
    blocks_of,
    design_of_mode,
    longer_groups,
    make_groups,
    plan_at_rate,
)
from loadstone.experiment.plan.design.planned_search import SEARCHES, SearchContext
from loadstone.experiment.plan.design.planned_trial import ConditionParts, planned_trial, with_studied
from loadstone.experiment.plan.design.randomisation import block_order
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.operations import commands_of
from loadstone.experiment.plan.run_plan import (
    TABLE_GROUP,
    GoalPlan,
    PlannedTrial,
    RunPlan,
    SearchPlan,
    Stage,
    in_tables,
)
from loadstone.experiment.plan.substitute import PlanMode
from loadstone.experiment.plan.trial_plans import WorkloadPlanner, in_slices, interval_of_rows_s, with_fixed_length
from loadstone.experiment.plan.workload_from_text import ReadRecording, reads_no_recording
from loadstone.experiment.spec.counting import TRIALS_MAX
from loadstone.experiment.spec.experiment import OUR_PREFIX, RATES, Experiment, conditions_varied
from loadstone.experiment.spec.levels import Condition, Level, identity
from loadstone.safety.errors import UserError
from loadstone.text.units import duration_s

_LARGEST_SEED = 2**63 - 1
COMMANDS = {"json": "JSON."}
"""Module -> what its commands begin with. A script may call them, too, so they may stand anywhere in a command."""


def make_run_plan(
    experiment: Experiment,
    *,
    only: Mapping[str, tuple[Level, ...]] | None = None,
    quick: bool = False,
    as_published: bool = False,
    seed: int = 1,
    blocks: int | None = None,
    budget_s: float | None = None,
    cpus: tuple[int, ...] = (),
    cpu_count: int = 1,
    scale: float | None = None,
    memory_bytes: int | None = None,
    shortened_for_s: float | None = None,
    read_recording: ReadRecording = reads_no_recording,
) -> RunPlan:
    """All trials that the run may need: group by group, each condition of a group once a block, in random order.

    The same arguments give the same plan. `blocks` fixes the blocks of every group; None: comparisons are looked at
    as they go, tables have the design's blocks. Levels that are off by default are left out unless `only` names them.
    `budget_s` replaces the design's budget. `cpus` are those that the driver's threads may be pinned to, `cpu_count`
    are all that loadstone may use, and `memory_bytes` is all that the machine has (None: enough). `scale` is by how
    much users and rows are made smaller; None: as the experiment says. `shortened_for_s` is the budget for which
    compared slices and trials are made shorter, as a resumed run has it; None: `budget_s`, if that has no room for the
    first looks. `read_recording` reads the recording of a workload. Every condition of the experiment is planned,
    selected or not, so that a mistake in any of them is found before the run. Raises UserError.
    """
    _check_options(experiment, as_published=as_published, seed=seed, blocks=blocks, budget_s=budget_s, scale=scale)
    mode = PlanMode(quick=quick, as_published=as_published, scale=_scale(experiment, scale, quick=quick))
    levels = chosen_levels(experiment, only or {})
    planner = WorkloadPlanner(experiment, mode, cpus, cpu_count, read_recording)
    made = {condition.identity: _parts(planner, condition, seed) for condition in all_conditions(experiment)}
    crashes = plan_crashes(experiment, mode, seed, levels, made.__getitem__)
    chosen = select(experiment, only=levels, quick=quick, as_published=as_published)
    pairs = pairs_of_mode(experiment, only=levels, quick=quick, as_published=as_published)
    printed = rows_of_mode(experiment, quick=quick, as_published=as_published)
    made = with_studied(made, _tables(chosen, printed), pairs)
    design = design_of_mode(
        experiment,
        quick=quick,
        as_published=as_published,
        blocks=blocks,
        budget_s=budget_s,
        memory_bytes=memory_bytes,
    )
    measured_by_rate = chosen if not any(part.REPLACES_LOAD for part in experiment.parts.values()) else ()
    search = _search(experiment, mode, seed, levels, chosen, planner, made)
    goals = tuple(_goals(experiment, mode, seed, levels, made))
    rows = [one.condition for one in measured_by_rate if one.identity in printed]
    measured = [one.condition for one in chosen] + [crash.trial.condition for crash in crashes]
    measured += [] if search is None else [trial.condition for trial in search.trials]
    measured += [trial.condition for goal in goals for trial in goal.trials]
    check_started_by_user(experiment, measured)

    def planned(design: DesignOfMode, shortened_for_s: float = 0.0) -> RunPlan:
        groups = make_groups(experiment, design, measured_by_rate, pairs, made)
        _check_trials(groups, blocks)
        longer = longer_groups(experiment, design, groups, made)
        return RunPlan(
            experiment=experiment.name,
            seed=seed,
            quick=quick,
            as_published=as_published,
            budget_s=design.budget_s,
            conditions=tuple(one.condition for one in chosen),
            groups=groups,
            trials=tuple(trial for group in groups for trial in _trials(group, made, seed)),
            crashes=crashes,
            longer=tuple(Stage(group, tuple(_trials(group, made, seed))) for group in longer),
            scale=mode.scale,
            search=search,
            goals=goals,
            at_rate=plan_at_rate(design.fixed_rate, rows, made, seed, rounds=design.rounds, own_s=_own_s(groups)),
            shortened_for_s=shortened_for_s,
        )

    run_plan = planned(design)
    room_s = _shortened_for_s(design, given=budget_s is not None) if shortened_for_s is None else shortened_for_s
    share = replace(run_plan, budget_s=room_s).length_share()
    if share < 1:
        run_plan = planned(replace(design, length_share=share), room_s)
    return _with_needed_modules(run_plan)


def _shortened_for_s(design: DesignOfMode, *, given: bool) -> float:
    """The budget that compared slices and trials must suit; 0 where the experiment says how long they are.

    `given`: the budget is the command line's, and so stands above that.
    """
    written = design.trial_s is not None or design.slice_s is not None
    return 0.0 if written and not given else design.budget_s


def _tables(chosen: Iterable[NumberedCondition], printed: Mapping[str, Sequence[str]]) -> Collection[list[Condition]]:
    """The chosen conditions of each table, by the tables that print a condition."""
    by_table: dict[str, list[Condition]] = {}
    for one in chosen:
        for table in printed.get(one.identity, ()):
            by_table.setdefault(table, []).append(one.condition)
    return by_table.values()


def _own_s(groups: Sequence[Group]) -> float:
    """Seconds for which a row of a table is measured, all its blocks together."""
    return max((group.trial_s * group.looks[-1] for group in groups if in_tables(group.name)), default=0.0)


def _scale(experiment: Experiment, scale: float | None, *, quick: bool) -> float:
    """As the command line says, or else the experiment in its mode."""
    if scale is not None:
        return scale
    return experiment.quick.scale if quick and experiment.quick.scale is not None else experiment.scale


def _check_options(
    experiment: Experiment,
    *,
    as_published: bool,
    seed: int,
    blocks: int | None,
    budget_s: float | None,
    scale: float | None,
) -> None:
    if not 0 <= seed <= _LARGEST_SEED:
        raise UserError("--seed {seed}: must be from 0 to {largest_seed}", seed=seed, largest_seed=_LARGEST_SEED)
    if blocks is not None and blocks < 1:
        raise UserError("--blocks {blocks}: must be at least 1", blocks=blocks)
    if budget_s is not None and not budget_s > 0:
        raise UserError("--budget {budget_s}: must be more than 0 s", budget_s=budget_s)
    if scale is not None and not 0 < scale <= 1:
        raise UserError(
            "--scale {scale}: must be more than 0 and at most 1; write for example 0.1 or 10 %", scale=scale
        )
    if as_published and experiment.as_published is None:
        raise UserError(
            "--as-published: {experiment} has no published counts; leave the option out", experiment=experiment.name
        )


def _check_trials(groups: tuple[Group, ...], blocks: int | None) -> None:
    """Count before building. Raises UserError where there are more trials than a run can hold."""
    counts = {group.name: len(group.conditions) * len(blocks_of(group)) for group in groups}
    if sum(counts.values()) > TRIALS_MAX:
        largest = max(groups, key=lambda group: counts[group.name])
        of = f"{largest.name}: {len(largest.conditions):,} conditions in {len(blocks_of(largest)):,} blocks"
        remedy = "lower --blocks" if blocks is not None else "lower design.table_blocks, or vary fewer levels"
        raise UserError(
            "{values:,} trials are planned, and a run has at most {trials_max:,} ({of}); {remedy}",
            values=sum(counts.values()),
            trials_max=TRIALS_MAX,
            of=of,
            remedy=remedy,
        )


def _parts(planner: WorkloadPlanner, one: NumberedCondition, seed: int) -> ConditionParts:
    """The parts and plans of a condition, with keys of its own in this run."""
    prefix = f"{OUR_PREFIX}{seed & 0xFFFFFFFF:08x}:{one.number:03d}:"
    deployment = planner.deployment(one.condition)
    plan = planner.plan(one.condition, prefix=prefix, replicas=deployment.replicas)
    planner.check_target(one.condition, plan, deployment)
    load = planner.load(one.condition, plan)
    if load is not None:
        plan = plan.model_copy(update={"keys": plan.keys.model_copy(update={"loaded": True})})
    return ConditionParts(one, plan, load, deployment)


def _trials(group: Group, made: Mapping[str, ConditionParts], seed: int) -> Iterator[PlannedTrial]:
    """The trials of a group, block by block. Plan and load of a trial have its own seed."""
    keys = [identity(condition) for condition in group.conditions]
    prefix = "" if group.name == TABLE_GROUP else f"{group.key}-"
    for block in blocks_of(group):
        plans = {key: _of_block(group, block, made[key].plan) for key in keys}
        for order, condition in enumerate(block_order(group, seed, block), start=1):
            key = identity(condition)
            yield planned_trial(
                made[key],
                plans[key],
                name=f"{prefix}b{block:02d}-{order:03d}",
                group=group.name,
                key=group.key,
                block=block,
                order=order,
                seed=seed,
                in_rounds=group.rounds is not None,
                stage=group.stage,
            )


def _of_block(group: Group, block: int, plan: Plan) -> Plan:
    """The plan of a condition in a block: what is compared has the group's length, in rounds that of its slices."""
    if group.rounds is not None:
        if in_tables(group.name):
            return in_slices(plan, group.rounds, block, interval_of_rows_s(plan, group.rounds, block))
        if group.metric in RATES:
            return in_slices(plan, group.rounds, block)
        return in_slices(plan, group.rounds, block, round(group.rounds.latency_interval_s(block), 6))
    return with_fixed_length(plan, group.trial_s) if group.pairs else plan


def _with_needed_modules(run_plan: RunPlan) -> RunPlan:
    """The plan with every server's `modules` cut down to those that some trial uses there.

    An application may use any module of its servers: beside one they are left as they are.
    """
    trials = run_plan.every_trial
    if not any(settings.get("modules") for trial in trials for settings in trial.servers.values()):
        return run_plan
    counts = {(crash.crash.server, crash.crash.count) for crash in run_plan.crashes if crash.crash.count is not None}
    used = {need for trial in trials for need in _used(trial)} | {
        (server, module) for server, count in counts for module in _modules([count])
    }
    at_rate, search = run_plan.at_rate, run_plan.search
    return replace(
        run_plan,
        trials=tuple(_cut(trial, used) for trial in run_plan.trials),
        crashes=tuple(replace(crash, trial=_cut(crash.trial, used)) for crash in run_plan.crashes),
        at_rate=None
        if at_rate is None
        else replace(at_rate, trials=tuple(_cut(trial, used) for trial in at_rate.trials)),
        search=None if search is None else replace(search, trials=tuple(_cut(trial, used) for trial in search.trials)),
        goals=tuple(replace(goal, trials=tuple(_cut(trial, used) for trial in goal.trials)) for goal in run_plan.goals),
        longer=tuple(
            replace(stage, trials=tuple(_cut(trial, used) for trial in stage.trials)) for stage in run_plan.longer
        ),
    )


def _used(trial: PlannedTrial) -> Iterator[tuple[str, str]]:
    """Server and module of everything that a trial sends."""
    modules = list(COMMANDS) if trial.subjects else _modules(_sent(trial))
    servers = (trial.target,) if trial.target is not None and not trial.subjects else trial.servers
    yield from ((name, module) for name in servers for module in modules)
    for data in trial.data:
        yield from ((data.server, module) for module in _modules(data.commands))
    for stored in trial.stored:
        yield from ((stored.server, module) for module in _modules([stored.count]))


def _sent(trial: PlannedTrial) -> Iterator[str]:
    """Every command of the load, and of what stores its data, as text."""
    for plan in (trial.plan, trial.load):
        for operation in plan.operations if plan is not None else ():
            yield from (" ".join(command.args) for command in commands_of(operation))


def _modules(commands: Iterable[str]) -> list[str]:
    texts = [command.upper() for command in commands]
    return [module for module, begins in COMMANDS.items() if any(begins in text for text in texts)]


def _cut(trial: PlannedTrial, used: set[tuple[str, str]]) -> PlannedTrial:
    return replace(trial, servers={name: _settings(name, settings, used) for name, settings in trial.servers.items()})


def _settings(name: str, settings: Mapping[str, object], used: set[tuple[str, str]]) -> dict[str, object]:
    modules = settings.get("modules")
    if not isinstance(modules, list | tuple):
        return dict(settings)
    return {**settings, "modules": [one for one in modules if one not in COMMANDS or (name, one) in used]}


def _search(
    experiment: Experiment,
    mode: PlanMode,
    seed: int,
    only: Only,
    chosen: Sequence[NumberedCondition],
    planner: WorkloadPlanner,
    made: Mapping[str, ConditionParts],
) -> SearchPlan | None:
    """The search for loads that an add-on plans; the original made none, and `--as-published` has none.

    `made` has the workload's plan and the parts of each condition, by its identity. Raises UserError.
    """

    def template(condition: Condition, number: int) -> PlannedTrial:
        parts = made[identity(condition)]
        trial = planned_trial(
            parts,
            planner.for_many_users(condition, parts.plan),
            name=f"{group}-{number:03d}",
            group=group,
            block=1,
            order=number,
            seed=seed,
            in_rounds=False,
        )
        return replace(trial, stored=())

    def varied(levels: Mapping[str, tuple[Level, ...]]) -> list[Condition]:
        return [condition for condition in conditions_varied(experiment, levels) if has_levels(condition, only)]

    asked = SearchContext(experiment, mode.quick, [one.condition for one in chosen], varied, template)
    for key, part in experiment.parts.items() if not mode.as_published else ():
        planned = SEARCHES.get(key)
        if planned is not None and part.SEARCH is not None:
            group = part.SEARCH.group
            return planned(part, asked)
    return None


def _goals(
    experiment: Experiment, mode: PlanMode, seed: int, only: Only, made: Mapping[str, ConditionParts]
) -> Iterator[GoalPlan]:
    """Each goal that the mode asks and of which a condition is left. The original asked none."""
    for goal in experiment.goals:
        conditions = [
            condition for condition in conditions_varied(experiment, goal.vary) if has_levels(condition, only)
        ]
        if mode.as_published or (mode.quick and not goal.quick) or not conditions:
            continue
        trials = tuple(
            planned_trial(
                made[identity(condition)],
                made[identity(condition)].plan,
                name=f"{goal.name}-{number:03d}",
                group=goal.name,
                block=1,
                order=number,
                seed=seed,
                in_rounds=False,
            )
            for number, condition in enumerate(conditions, start=1)
        )
        yield GoalPlan(goal.name, goal.kind, goal.settings, duration_s(goal.time), trials)
