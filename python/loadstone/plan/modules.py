"""A server needs its modules only where a condition that is measured uses them.

With `--only storage=string` a server without RedisJSON will do, although the whole experiment needs one that has it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from loadstone.plan.run_plan import PlannedTrial, RunPlan

COMMANDS = {"json": "JSON."}
"""Module -> what its commands begin with. A script may call them, too, so they may stand anywhere in a command."""


def with_needed_modules(run_plan: RunPlan) -> RunPlan:
    """The plan with every server's `modules` cut down to those that some trial uses there.

    An application may use any module of its servers: beside one they are left as they are.
    """
    trials = run_plan.every_trial
    if not any(settings.get("modules") for trial in trials for settings in trial.servers.values()):
        return run_plan
    counts = {(one.crash.server, one.crash.count) for one in run_plan.crashes if one.crash.count is not None}
    used = {need for trial in trials for need in _used(trial)} | {
        (server, module) for server, count in counts for module in _modules([count])
    }
    at_rate, saturation = run_plan.at_rate, run_plan.saturation
    return replace(
        run_plan,
        trials=tuple(_cut(trial, used) for trial in run_plan.trials),
        crashes=tuple(replace(one, trial=_cut(one.trial, used)) for one in run_plan.crashes),
        at_rate=None if at_rate is None else replace(at_rate, trials=tuple(_cut(one, used) for one in at_rate.trials)),
        saturation=None
        if saturation is None
        else replace(saturation, trials=tuple(_cut(one, used) for one in saturation.trials)),
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
            commands = [*operation.commands, *([operation.read_back] if operation.read_back is not None else [])]
            yield from (" ".join(command.args) for command in commands)


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
