"""What a command line stands for, and what can be checked before anything starts: experiment, plan, parts, servers."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from loadstone.experiment.spec.consistency import check_used
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.loading import find_source, validate_source
from loadstone.experiment.spec.overrides import Overrides, parse_duration_s, parse_only, parse_scale
from loadstone.experiment.spec.problems import ExperimentSource
from loadstone.machine.hardware import installed_bytes
from loadstone.machine.placement import OWN_CPUS, Placement, place, usable_cpus, with_own_cpus
from loadstone.run.command_line import files_of_folder, folder_is_trusted
from loadstone.run.load_source import NamedSource, named_source, require_no_hosts
from loadstone.run.request import RunRequest
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_experiments import check_given, learn_experiment
from loadstone.safety.secrets.references import give_files, learn_environment
from loadstone.text.message import AnyText
from loadstone.text.units import NEVER

if TYPE_CHECKING:
    from loadstone.experiment.plan.operations import RecordedLoad
    from loadstone.experiment.plan.run_plan import RunPlan
    from loadstone.run.parts_behind import NamedParts
    from loadstone.run_folder.plan_summary import PlanSummary


@dataclass(frozen=True)
class Prepared:
    """A run that may be started."""

    experiment: Experiment
    run_plan: "RunPlan"
    placement: Placement
    remarks: tuple[AnyText, ...] = ()
    """What the user must know before it starts: which commands were let pass."""
    source: NamedSource | None = None
    """What makes the load; None: this machine's engine, or clients' programs."""
    behind: "NamedParts | None" = None
    """The parts behind a service that the command line names; None: it names none."""


def prepare(options: RunRequest) -> Prepared:
    """Plan the run, and check all that needs no start: what loads quickly first. Raises UserError."""
    options.require_add_ons()
    source = named_source(options)
    experiment = requested_experiment(options)
    cpu_count = usable_cpus()
    run_plan = requested_plan(experiment, options, place(cpu_count).generator_cpus, cpu_count)
    if options.resume is not None:
        _require_same_plan(options.resume, run_plan)
    _require_trust(experiment, run_plan, options)
    remarks = _check_parts(run_plan, options, source)
    behind = _parts_behind(options)
    placement = place(max(trial.plan.threads for trial in run_plan.every_trial))
    apart = (
        name
        for trial in run_plan.every_trial
        for name, settings in trial.servers.items()
        if settings.get("cpus") == OWN_CPUS
    )
    return Prepared(experiment, run_plan, with_own_cpus(placement, apart), remarks, source, behind)


def _parts_behind(options: RunRequest) -> "NamedParts | None":
    """Raises UserError where one is not there."""
    if not options.parts and not options.asked:
        return None
    from loadstone.run.parts_behind import named_parts  # only now: it takes time to load

    return named_parts(options)


def requested_experiment(options: RunRequest) -> Experiment:
    """The experiment with what the command line changes in it. Raises UserError."""
    learn_environment()
    give_files(options.secret_files)
    written = options.described or find_source(options.experiment)
    learn_experiment(written.data)  # also of what options replace: their errors come first
    source = _changed(written, options)
    experiment = validate_source(source)
    check_used(experiment, written.data)
    for path, problem in check_given(source.data):
        raise source.error(path, problem)
    _check_goals(experiment)
    return experiment


def _changed(written: ExperimentSource, options: RunRequest) -> ExperimentSource:
    """The source with what the command line changes in it. Raises UserError."""
    changed = Overrides(written)
    try:
        for server in options.servers:
            changed.put_server(server)
        for subject in options.subjects:
            changed.put_subject(subject)
        for setting in options.set:
            changed.put_setting(setting)
        for host in options.hosts:
            changed.put_host(host)
        if options.driver is not None:
            changed.put_driver(options.driver)
        if options.at_rate is not None:
            changed.put_at_rate(options.at_rate)
        if options.fleet is not None:
            changed.put_whole_trials()
        if options.twin:
            changed.put_twin()
    except UserError:
        validate_source(written)  # what is wrong with it comes first, and its secrets stand in no error
        raise
    return changed.source


def requested_plan(
    experiment: Experiment,
    options: RunRequest,
    cpus: tuple[int, ...] = (),
    cpu_count: int = 1,
    memory_bytes: Callable[[], int | None] = installed_bytes,
) -> "RunPlan":
    """The design of the run; `cpus` are those that the driver may have, of `cpu_count` in all.

    `memory_bytes` tells how much memory the machine has; None: enough. Raises UserError.
    """
    from loadstone.experiment.plan.design.run_design import make_run_plan  # only now: it takes time to load

    kept = _kept_plan(options)
    run_plan = make_run_plan(
        experiment,
        only=parse_only(experiment, options.only),
        quick=options.quick,
        as_published=options.as_published,
        seed=_seed(options, kept),
        blocks=options.blocks,
        budget_s=None if options.budget is None else parse_duration_s(options.budget, "--budget"),
        cpus=cpus,
        cpu_count=cpu_count,
        scale=None if options.scale is None else parse_scale(options.scale),
        memory_bytes=memory_bytes(),
        shortened_for_s=None if kept is None else kept.shortened_for_s,
        read_recording=_read_recording,
    )
    _check_rows_at_rate(run_plan, options)
    return run_plan if kept is None or options.budget is not None else replace(run_plan, budget_s=kept.budget_s)


def _read_recording(path: Path) -> "RecordedLoad":
    """What a recording holds. Raises UserError."""
    from loadstone.servers.recordings import recorded_load  # only now: it takes time to load

    return recorded_load(path)


def _check_rows_at_rate(run_plan: "RunPlan", options: RunRequest) -> None:
    """Raises UserError where a rate is given that no row can have."""
    if run_plan.at_rate is not None or options.at_rate in (None, NEVER) or options.resume is not None:
        return
    if options.as_published:
        raise UserError(
            "--at-rate {at_rate}: --as-published measures at no fixed rate; leave one of them out",
            at_rate=options.at_rate,
        )
    why = "every load has a rate or pauses of its own, or stands in no table"
    raise UserError(
        "--at-rate {at_rate}: no row of {experiment} can have it: {why}; leave it out",
        at_rate=options.at_rate,
        experiment=run_plan.experiment,
        why=why,
    )


def _kept_plan(options: RunRequest) -> "PlanSummary | None":
    """The plan of the run that is resumed: its seed, its budget and what its slices were made short for are kept.

    Raises UserError.
    """
    if options.resume is None:
        return None
    from loadstone.run_folder.reading import read_plan  # only now: it takes time to load

    return read_plan(options.resume)


def _seed(options: RunRequest, kept: "PlanSummary | None") -> int:
    """The run's seed. A fresh one keeps the keys of two runs on one server apart."""
    if options.seed is not None:
        return options.seed
    return secrets.randbelow(2**32) if kept is None else kept.seed


def _check_goals(experiment: Experiment) -> None:
    if experiment.goals:
        from loadstone.measure.goals.registry import check_goals  # only now: it takes time to load

        check_goals(experiment)


def _require_trust(experiment: Experiment, run_plan: "RunPlan", options: RunRequest) -> None:
    """Before anything is started or connected to: a stranger's experiment may do what it would. Raises UserError."""
    if options.typed:
        return
    from loadstone.run.consent import require_consent  # only now: it takes time to load

    trust = options.trust or folder_is_trusted()
    from loadstone.run_folder.earlier_runs import files_sent

    files, of_folder = options.secret_files, options.of_folder
    sent = files_of_folder() if of_folder else files_sent(options.command)
    require_consent(experiment, run_plan, trust=trust, of_folder=of_folder, secret_files=files, files_sent=sent)


def _check_parts(run_plan: "RunPlan", options: RunRequest, source: NamedSource | None) -> tuple[AnyText, ...]:
    """The engine, the parts, the room on the disk, and last the user's servers; remarks. Raises UserError."""
    from loadstone.drivers.native import require_drivable, require_release_engine
    from loadstone.programs.clients.chosen import chosen_drivers
    from loadstone.run.confinement import confined, doubts
    from loadstone.run.needs import require_all
    from loadstone.run.preflight import (  # only now: it takes time to load
        ask_users_parts,
        check_local_ports,
        check_parts,
    )
    from loadstone.run_folder.disk_space import check_space, estimate_bytes

    require_release_engine()
    for trial in run_plan.every_trial:
        if trial.block == 1:
            require_drivable(trial.plan)
    check_parts(run_plan)
    require_all(run_plan, options, trusted=True)
    chosen = chosen_drivers(run_plan)
    if source is None:
        require_no_hosts(run_plan)
    else:
        source.check(run_plan, chosen)
    check_local_ports(run_plan)
    remarks = doubts(run_plan, allow=options.allow_any_command)
    confined(run_plan, ask=False, allow=options.allow_any_command)
    check_space(options.resume or options.out, estimate_bytes(run_plan))
    ask_users_parts(run_plan)
    return (*remarks, *confined(run_plan, ask=True, allow=options.allow_any_command))


def _require_same_plan(folder: Path, run_plan: "RunPlan") -> None:
    from loadstone.run_folder.plan_summary import summarise_plan  # only now: it takes time to load
    from loadstone.run_folder.resume import require_same_plan

    require_same_plan(folder, summarise_plan(run_plan))
