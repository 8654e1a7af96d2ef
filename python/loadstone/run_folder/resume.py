"""Whether a folder may be gone on with: only by the same experiment, plan and machine; the budget may differ."""

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from loadstone.experiment.plan.group import GroupDesign
from loadstone.machine.limits_in_force import LimitName, PartLimits
from loadstone.run_folder.files import PLAN, require_run
from loadstone.run_folder.lines import dump_document
from loadstone.run_folder.plan_summary import PlanSummary
from loadstone.run_folder.reading import read_environment, read_plan
from loadstone.safety.bounds.files import load_json
from loadstone.safety.errors import UserError
from loadstone.text.message import AnyText, said

_OPTIONS = (("seed", "--seed"), ("quick", "--quick"), ("as_published", "--as-published"), ("scale", "--scale"))
_SAME_MACHINE = (
    ("machine", "machine_id"),
    ("machine", "cpu_model"),
    ("machine", "cpu_count"),
    ("kernel", "release"),
    ("versions", "loadstone"),
    ("versions", "engine"),
    ("placement",),
)

_LIMITS: Mapping[LimitName, AnyText] = {"cpu": said("cpu limit"), "memory": said("memory limit in bytes")}
"""What the limits are called in an error."""
_PART_LIMITS: TypeAdapter[PartLimits] = TypeAdapter(PartLimits)


def require_same_plan(path: Path, plan: PlanSummary) -> None:
    """Refuse to go on with the folder of another experiment or plan, before anything is started.

    Raises:
        UserError: they differ, or there is no such folder.
    """
    require_run(path, "--resume ", [PLAN])
    difference = next(_plan_differences(read_plan(path), plan), None)
    if difference is not None:
        raise UserError(
            "--resume {path}: {difference}; leave the experiment and its options out, or run it again without --resume",
            path=path,
            difference=difference,
        )


def require_same_run(path: Path, plan: PlanSummary, environment: Mapping[str, Any]) -> None:
    """Refuse to go on with the folder of another experiment, plan or machine.

    Args:
        path: the run's folder.
        plan: the summary of what would be run now; its budget may be another one.
        environment: as `run.environment.capture` returns it, of now.

    Raises:
        UserError: they differ; the difference is named.
    """
    difference = next(_plan_differences(read_plan(path), plan), None)
    if difference is None:
        difference = next(_environment_differences(read_environment(path), load_json(dump_document(environment))), None)
    if difference is not None:
        raise UserError(
            "--resume {path}: {difference}; run it again without --resume", path=path, difference=difference
        )


def _plan_differences(then: PlanSummary, now: PlanSummary) -> Iterator[AnyText]:
    if then.experiment != now.experiment:
        yield said("the folder is of experiment '{then}', not '{now}'", then=then.experiment, now=now.experiment)
    for name, word in _OPTIONS:
        before, after = getattr(then, name), getattr(now, name)
        if before != after:
            yield said(
                "{option} was {before} and is now {after}", option=word, before=_word(before), after=_word(after)
            )
    before_conditions = {tuple(t.condition.items()) for t in then.trials}
    after_conditions = {tuple(t.condition.items()) for t in now.trials}
    if before_conditions != after_conditions:
        yield _condition_difference(before_conditions, after_conditions)
    for before_group, after_group in zip(then.groups, now.groups, strict=False):
        yield from _group_differences(before_group, after_group)
    for before_stage, after_stage in zip(then.longer, now.longer, strict=False):
        yield from _group_differences(before_stage.group, after_stage.group)
    if len(then.trials) != len(now.trials):
        yield said("{then} trials were planned and now {now}", then=len(then.trials), now=len(now.trials))
    for before_trial, after_trial in zip(then.trials, now.trials, strict=False):
        if before_trial != after_trial:
            difference = _trial_difference(before_trial, after_trial)
            yield said(
                "trial {trial} is planned otherwise: {difference}", trial=before_trial.trial, difference=difference
            )
    for before_crash, after_crash in zip_longest(then.crashes, now.crashes):
        if before_crash != after_crash:
            crash = (before_crash or after_crash).trial
            yield said("crash {crash} is planned otherwise", crash=crash)
    if (then.search and then.search.complete) != (now.search and now.search.complete):
        yield said("where conditions saturate is looked for otherwise")
    for before_goal, after_goal in zip_longest(then.goals, now.goals):
        if before_goal != after_goal:
            goal = (before_goal or after_goal).name
            yield said("goal {goal} is planned otherwise", goal=goal)
    if then.at_rate != now.at_rate:
        yield said("what is measured at a fixed rate is planned otherwise (--at-rate)")


def _group_differences(then: GroupDesign, now: GroupDesign) -> Iterator[AnyText]:
    """What decides otherwise now. How long its trials were thought to take decides nothing."""
    if then.name != now.name:
        yield said("group {then} was planned, and now {now}", then=then.name, now=now.name)
    elif (then.pairs, then.contrasts) != (now.pairs, now.contrasts):
        yield said("group {name}: other conditions are compared", name=then.name)
    for name in ("metric", "margin", "looks", "sequential", "warm_block", "trial_s", "rounds", "fixed_rate"):
        before, after = getattr(then, name), getattr(now, name)
        if before != after:
            yield said(
                "group {group}: {key} was {before} and is now {after}",
                group=then.name,
                key=name,
                before=_listed(before),
                after=_listed(after),
            )


def _listed(value: object) -> AnyText:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else _word(value)


def _condition_difference(then: set[tuple[Any, ...]], now: set[tuple[Any, ...]]) -> AnyText:
    """One condition that stands on one side only, as text."""
    gone, new = then - now, now - then
    example, count = _condition(min(gone or new, key=str)), len(gone | new)
    if gone:
        return said(
            "conditions differ ({count}): '{example}' was in the folder's plan and is not now",
            count=count,
            example=example,
        )
    return said("conditions differ ({count}): '{example}' is new", count=count, example=example)


def _condition(condition: tuple[Any, ...]) -> str:
    return ", ".join(f"{factor}={level}" for factor, level in condition)


def _trial_difference(then: Any, now: Any) -> AnyText:
    for name, word in (
        ("trial", said("name")),
        ("condition", said("condition")),
        ("block", said("block")),
        ("order", said("order")),
    ):
        before, after = getattr(then, name), getattr(now, name)
        if before != after:
            return said("{word} {before} then, {after} now", word=word, before=before, after=after)
    return said("its load or the settings of a server, a subject or the data differ")


def _environment_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[AnyText]:
    before, after = _value(then, ("fleet", "fleet")), _value(now, ("fleet", "fleet"))
    if before != after:
        remedy = said("name the same by --fleet") if before else said("leave --fleet out")
        yield said(
            "its load came from {before}, and would come from {after} now: {remedy}",
            before=_generator(before),
            after=_generator(after),
            remedy=remedy,
        )
    for keys in _SAME_MACHINE:
        before, after = _value(then, keys), _value(now, keys)
        if keys[-1] == "machine_id" and before != after:
            yield said("the folder was made on another machine")
        elif before != after:
            what = " ".join(keys)
            yield said("{what} was {before} and is now {after}", what=what, before=before, after=after)
    servers_then, servers_now = _parts(then, "servers"), _parts(now, "servers")
    for name in sorted({*servers_then, *servers_now}):
        for key in ("software", "version", "modules", "settings", "network"):
            before, after = (_value(side, (name, key)) for side in (servers_then, servers_now))
            if before != after:
                yield said(
                    "server {name}: {key} was {before} and is now {after}",
                    name=name,
                    key=key,
                    before=before,
                    after=after,
                )
        sides = (_value(side, (name,)) or {} for side in (servers_then, servers_now))
        yield from _limit_differences(said("server {name}", name=name), *sides)
    yield from _subject_differences(_parts(then, "subjects"), _parts(now, "subjects"))


def _generator(fleet: object) -> AnyText:
    return said("the fleet {fleet}", fleet=fleet) if fleet else said("this machine alone")


def _limit_differences(what: AnyText, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[AnyText]:
    """Limits in force; why they are unavailable may be another reason."""
    for name, label in _LIMITS.items():
        before, after = (_limit(side, name) for side in (then, now))
        if str(before) != str(after):
            yield said(
                "{what}: {label} was {before} and is now {after}", what=what, label=label, before=before, after=after
            )


def _limit(part: Mapping[str, Any], name: LimitName) -> AnyText:
    """The value or the status of a part's limit."""
    try:
        limits = _PART_LIMITS.validate_python(part.get("limits", {}))
    except ValidationError:
        return said("not readable")
    limit = limits.get(name)
    if limit is None:
        return said("none")
    return limit.status.replace("_", " ") if limit.value is None else f"{limit.value:.15g}"


def _subject_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[AnyText]:
    for name in sorted({*then, *now}):
        before, after = then.get(name, {}), now.get(name, {})
        for key in ("source", "url", "jvm_flags"):
            if before.get(key) != after.get(key):
                old, new = (side.get(key, said("none")) for side in (before, after))
                yield said("subject {name}: {key} was {old} and is now {new}", name=name, key=key, old=old, new=new)
        yield from _limit_differences(said("subject {name}", name=name), before, after)


def _parts(environment: Mapping[str, Any], kind: str) -> Mapping[str, Mapping[str, Any]]:
    """The servers or subjects of an environment, which may be a stranger's: what is none of them is left out."""
    parts = environment.get(kind)
    named = parts.items() if isinstance(parts, Mapping) else ()
    return {name: part for name, part in named if isinstance(part, Mapping)}


def _value(record: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    value: Any = record
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _word(value: object) -> AnyText:
    return {True: said("on"), False: said("off")}[value] if isinstance(value, bool) else str(value)
