"""What a run starts, fills and kills: servers, subjects, data sets, crashes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from loadstone import registry
from loadstone.message import Message, message
from loadstone.plan.design.conditions import conditions_varied
from loadstone.plan.run_plan import PlannedTrial, RunPlan
from loadstone.plan.started_by_user import factors_of_start
from loadstone.plan.workload.substitute import substitute
from loadstone.secrecy.known_secrets import hidden
from loadstone.spec.experiment import Crash, Experiment
from loadstone.spec.levels import level_text

Levels = list[list[Any]]
"""Factor and the texts of its levels."""


@dataclass(frozen=True)
class CrashOutline:
    """A crash of the experiment; without a note where it is not tried."""

    line: Message
    note: str


def parts(run_plan: RunPlan, experiment: Experiment) -> Iterator[Message]:
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
        factors = list(factors_of_start(subject.environment, subject.limits, subject.replicas))
        return message("plan_subject", name=name, manifest=str(subject.manifest), when=when, factors=factors)
    varied = {key: value for key, value in subject.environment.items() if factors_of_start(value)}
    filled = substitute(varied, trials[0].condition, experiment.factors)
    shown = hidden({"environment": filled})["environment"]
    servers = {server: settings for trial in trials for server, settings in trial.servers.items()}
    return message(
        "plan_subject_of_user",
        name=name,
        urls=len(planned.urls),
        when=when,
        varied=[f"{key}={level_text(value)}" for key, value in shown.items()],
        fixed=[key for key in subject.environment if key not in varied],  # their values may be secrets
        unknown=[server for server, settings in servers.items() if not registry.is_users(settings)],
    )


def crashes(run_plan: RunPlan, experiment: Experiment) -> Iterator[CrashOutline]:
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


def _not_tried(experiment: Experiment, crash: Crash) -> Message:
    if registry.is_users(experiment.servers[crash.server]):
        return message("plan_crash_of_user", name=crash.name, server=crash.server)
    return message("plan_crash_left_out", name=crash.name)


def _when(when: Mapping[str, Any]) -> Levels:
    """The conditions that need it; empty for all."""
    return [
        [factor, [level_text(level) for level in (levels if isinstance(levels, list | tuple) else (levels,))]]
        for factor, levels in when.items()
    ]
