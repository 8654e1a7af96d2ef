"""What can be checked of a run before anything is announced or started: its experiment, plan, parts and servers."""

from dataclasses import dataclass
from pathlib import Path

from loadstone.deploy.placement import OWN_CPUS, Placement, place, usable_cpus, with_own_cpus
from loadstone.options import RunOptions, files_of_folder, folder_is_trusted, requested_experiment, requested_plan
from loadstone.plan.run_plan import RunPlan
from loadstone.spec.experiment import Experiment


@dataclass(frozen=True)
class Prepared:
    """A run that may be started."""

    experiment: Experiment
    run_plan: RunPlan
    placement: Placement
    remarks: tuple[str, ...] = ()
    """What the user must know before it starts: which commands were let pass."""


def prepare(options: RunOptions) -> Prepared:
    """Plan the run, and check all that needs no start: what loads quickly first. Raises UserError."""
    experiment = requested_experiment(options)
    cpu_count = usable_cpus()
    run_plan = requested_plan(experiment, options, place(cpu_count).generator_cpus, cpu_count)
    if options.resume is not None:
        _require_same_plan(options.resume, run_plan)
    _require_trust(experiment, run_plan, options)
    remarks = _check_parts(run_plan, options)
    placement = place(max(trial.plan.threads for trial in run_plan.every_trial))
    apart = (
        name
        for trial in run_plan.every_trial
        for name, settings in trial.servers.items()
        if settings.get("cpus") == OWN_CPUS
    )
    return Prepared(experiment, run_plan, with_own_cpus(placement, apart), remarks)


def _require_trust(experiment: Experiment, run_plan: RunPlan, options: RunOptions) -> None:
    """Before anything is started or connected to: a stranger's experiment may do what it would. Raises UserError."""
    from loadstone.conduct.trust import require_trust  # only now: it takes time to load

    trust = options.trust or folder_is_trusted()
    from loadstone.runs import files_sent

    files, of_folder = options.secret_files, options.of_folder
    sent = files_of_folder() if of_folder else files_sent(options.command)
    require_trust(experiment, run_plan, trust=trust, of_folder=of_folder, secret_files=files, files_sent=sent)


def _check_parts(run_plan: RunPlan, options: RunOptions) -> tuple[str, ...]:
    """The engine, the parts, the room on the disk, and last the user's servers; remarks. Raises UserError."""
    from loadstone.conduct.confinement import confined
    from loadstone.conduct.connections_needed import check_local_ports
    from loadstone.conduct.doubts import doubts
    from loadstone.conduct.driver_manifests import chosen_drivers
    from loadstone.conduct.preflight import ask_users_parts, check_parts  # only now: it takes time to load
    from loadstone.drive.native import require_drivable, require_release_engine
    from loadstone.record.space import check_space, estimate_bytes

    require_release_engine()
    for trial in run_plan.every_trial:
        if trial.block == 1:
            require_drivable(trial.plan)
    check_parts(run_plan)
    chosen_drivers(run_plan)
    check_local_ports(run_plan)
    remarks = doubts(run_plan)
    confined(run_plan, ask=False, allow=options.allow_any_command)
    check_space(options.resume or options.out, estimate_bytes(run_plan))
    ask_users_parts(run_plan)
    return (*remarks, *confined(run_plan, ask=True, allow=options.allow_any_command))


def _require_same_plan(folder: Path, run_plan: RunPlan) -> None:
    from loadstone.record.plan_summary import summarise_plan  # only now: it takes time to load
    from loadstone.record.resume import require_same_plan

    require_same_plan(folder, summarise_plan(run_plan))
