"""Crashes: a server is killed under load. Each try is a trial of its own, outside of every table and comparison."""

import math
from collections.abc import Callable
from dataclasses import replace

from loadstone.experiment.plan.design.conditions import Only, has_levels
from loadstone.experiment.plan.design.planned_trial import ConditionParts, planned_trial
from loadstone.experiment.plan.design.randomisation import derived_seed
from loadstone.experiment.plan.drive_plan import Closed, Plan
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.experiment.plan.protocols import PROTOCOLS
from loadstone.experiment.plan.required import PlannedCrash
from loadstone.experiment.plan.run_plan import CrashTrial
from loadstone.experiment.plan.substitute import FieldPath, PlanMode, condition_text, resolve_factors
from loadstone.experiment.plan.trial_plans import with_fixed_length
from loadstone.experiment.software import is_users
from loadstone.experiment.spec.experiment import CrashSpec, Experiment, conditions_varied
from loadstone.experiment.spec.levels import identity
from loadstone.experiment.spec.workload import TableCount
from loadstone.safety.errors import UserError
from loadstone.text.message import AnyText, said
from loadstone.text.units import duration_s

MOST_KEYS_PER_S = 3_000_000
"""More than any server stores: what was acknowledged is kept for so many keys that are written once."""
AFTER_THE_KILL_S = 2.0
"""How long the load is planned to go on beyond the kill: it ends with the server's death, as good as always."""
STORING = frozenset(
    {
        "APPEND",
        "GETSET",
        "HMSET",
        "HSET",
        "INCR",
        "INCRBY",
        "JSON.SET",
        "LPUSH",
        "MSET",
        "RPUSH",
        "SADD",
        "SET",
        "SETNX",
    }
    | {"XADD", "ZADD"}
)
"""Commands that leave their key where it is once they were acknowledged."""
KEEPING = frozenset(
    {"ECHO", "EXISTS", "GET", "HGET", "HGETALL", "HMGET", "JSON.GET", "PING", "STRLEN", "TYPE", "WAIT", "WAITAOF"}
)
"""Commands that change nothing."""
EXPIRING = frozenset({"EX", "EXAT", "PX", "PXAT"})
EXISTS = ("EXISTS",)


def plan_crashes(
    experiment: Experiment, mode: PlanMode, seed: int, only: Only, parts_of: Callable[[str], ConditionParts]
) -> tuple[CrashTrial, ...]:
    """All tries of all crashes. `parts_of` gives the parts of a condition by its identity.

    Every condition is checked, chosen or not. The original killed nothing, so `--as-published` has none.
    Raises UserError with the line of what is wrong.
    """
    tries: list[CrashTrial] = []
    for index, crash in enumerate(experiment.crashes):
        for condition in conditions_varied(experiment, crash.vary):
            parts = parts_of(identity(condition))
            _check(experiment, ("crashes", index), crash, parts)
            ours = not is_users(parts.deployment.servers[crash.server])
            if ours and has_levels(condition, only) and not mode.as_published:
                times = crash.quick_times if mode.quick else crash.times
                tries += [_try(experiment, crash, parts, seed, number) for number in range(1, times + 1)]
    return tuple(tries)


def _check(experiment: Experiment, at: FieldPath, crash: CrashSpec, parts: ConditionParts) -> None:
    """The server must be there, and what an operation stores must be found: key by key, or by counting."""

    def error(key: str, problem: AnyText, remedy: AnyText) -> UserError:
        return experiment.source.error(
            (*at, key),
            said(
                "{problem} for {condition}; {remedy}",
                problem=problem,
                condition=condition_text(parts.one.condition),
                remedy=remedy,
            ),
        )

    distribution = parts.plan.keys.distribution
    if crash.server not in parts.deployment.servers:
        raise error("server", said("'{server}' is not there", server=crash.server), said("vary something else"))
    looked_up = _look_up(crash, parts)
    if distribution != "exactly_once" and not looked_up:
        remedy = said(
            "set workload.keys.distribution to exactly_once, or let each operation write {{document}} to {{key}}"
        )
        raise error("vary", said("keys are '{distribution}'", distribution=distribution), remedy)
    if crash.count is None and not looked_up:
        raise error("vary", said("keys cannot be looked up"), said("add `count`, which counts them"))
    if parts.load is not None:
        raise error("vary", said("workload.load stores the same keys before"), said("narrow its `when`"))


def _look_up(crash: CrashSpec, parts: ConditionParts) -> tuple[str, ...]:
    """The command that looks a key up, where the load goes to the server itself; else empty."""
    return _look_up_command(parts.plan) if parts.deployment.targets == (crash.server,) else ()


def _try(experiment: Experiment, crash: CrashSpec, parts: ConditionParts, seed: int, number: int) -> CrashTrial:
    """One try: load without warm-up that outlasts the kill, with a key space and a seed of its own."""
    name = f"crash-{crash.name}-{parts.one.number}-{number}"
    after_s, look_up = duration_s(crash.after), _look_up(crash, parts)
    trial = planned_trial(
        parts, parts.plan, name=name, group=f"crash-{crash.name}", block=number, order=1, seed=seed, in_rounds=False
    )
    count = crash.count.table if isinstance(crash.count, TableCount) else crash.count
    suffix = f"{crash.name}:{number}:"
    plan = _plan(parts.plan, after_s, derived_seed(seed, name), suffix, acknowledged=bool(look_up))
    planned = PlannedCrash(
        name=crash.name,
        trial=name,
        server=crash.server,
        count=None if count is None else str(resolve_factors(count, trial.condition, experiment.factors)),
        after_s=after_s,
        number=number,
        look_up=look_up,
    )
    return CrashTrial(replace(trial, plan=plan), planned)


def _plan(plan: Plan, after_s: float, seed: int, suffix: str, *, acknowledged: bool) -> Plan:
    measure_s = after_s + AFTER_THE_KILL_S
    long_enough = with_fixed_length(plan, measure_s)
    # Of a cluster the other nodes live on: what waits for the dead one must end, too.
    phases = {"warm_up_s": 0.0, "ramp_up_s": 0.0, "measure_max_s": measure_s}
    drain_s = min(plan.phases.drain_s, AFTER_THE_KILL_S)
    model = long_enough.model
    keys: dict[str, object] = {"prefix": plan.keys.prefix + suffix}
    if acknowledged and plan.keys.distribution == "exactly_once":
        keys["count"] = min(plan.keys.count, math.ceil(MOST_KEYS_PER_S * measure_s))
    changed = {
        "seed": seed,
        "acknowledged": acknowledged,
        "model": model.model_copy(update={"ramp_up": None}) if isinstance(model, Closed) else model,
        "phases": long_enough.phases.model_copy(update={**phases, "drain_s": drain_s}),
        "keys": plan.keys.model_copy(update=keys),
    }
    return long_enough.model_copy(update=changed)


def _look_up_command(plan: Plan) -> tuple[str, ...]:
    """The command that tells whether a key's write is there; empty: it can only be counted.

    The key goes behind the first word. Keys that are written once are there or not. Documents that are overwritten
    name their version.
    """
    if not PROTOCOLS[plan.protocol].of_redis or not all(map(_keeps_its_key, plan.operations)):
        return ()
    if plan.keys.distribution == "exactly_once":
        return EXISTS
    commands = {_of_version(operation) for operation in plan.operations}
    return commands.pop() if len(commands) == 1 else ()


def _keeps_its_key(operation: Operation) -> bool:
    """Whether the key is there once the operation was acknowledged, for good."""
    names = {command.args[0].upper() for command in operation.commands}
    stores = any(map(_stores, operation.commands)) and not any(map(_expires, operation.commands))
    return stores and names <= STORING | KEEPING


def _stores(command: ServerCommand) -> bool:
    return command.args[0].upper() in STORING and command.args[1:2] == ("{key}",)


def _expires(command: ServerCommand) -> bool:
    return command.args[0].upper() == "SET" and any(argument.upper() in EXPIRING for argument in command.args[3:])


def _of_version(operation: Operation) -> tuple[str, ...]:
    """What reads the version that an operation of one command stored; empty where none does."""
    name, *arguments = operation.commands[0].args
    if len(operation.commands) > 1 or operation.writes != "document":
        return ()
    match name.upper(), arguments:
        case "SET", ["{key}", "{document}"]:
            return ("GET",)
        case "JSON.SET", ["{key}", "$" | ".", "{document}"]:
            return ("JSON.GET",)
        case "HSET" | "HMSET", ["{key}", *fields] if "{version}" in fields[1::2]:
            return ("HGET", fields[2 * fields[1::2].index("{version}")])
    return ()
