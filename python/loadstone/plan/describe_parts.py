"""What a run starts, fills and kills, in words: servers, subjects, data sets, crashes."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from loadstone import registry
from loadstone.plan.conditions import conditions_varied
from loadstone.plan.run_plan import PlannedTrial, RunPlan
from loadstone.plan.started_by_user import factors_of_start
from loadstone.plan.substitute import substitute
from loadstone.secrecy.registry import hidden
from loadstone.spec.experiment import Crash, Experiment
from loadstone.spec.levels import level_text


def parts(run_plan: RunPlan, experiment: Experiment) -> Iterator[str]:
    """A line for each server, subject and data set that a trial of the run needs."""
    trials = run_plan.every_trial
    needed = {name for trial in trials for name in trial.servers}
    for name, settings in experiment.servers.items():
        if name in needed:
            yield f"Server {name}: {settings.get('kind', 'of no kind')}{_only(settings.get('when', {}))}"
    for name in experiment.subjects:
        there = [trial for trial in trials if name in trial.subjects]
        if there:
            yield _subject(experiment, name, there)
    for name in experiment.data:
        written = [data for trial in trials for data in trial.data if data.name == name]
        if written:
            rows = listed(f"{number:,}" for number in sorted({data.rows for data in written}))
            places = {data.server for data in written}
            into = listed(dict.fromkeys(one.server for one in experiment.data[name].into if one.server in places))
            yield f"Data {name}: {rows} rows into {into}"


def _subject(experiment: Experiment, name: str, trials: list[PlannedTrial]) -> str:
    """What it is, and what it is started anew for; of one of the user's, what it must have been started with."""
    subject, wanted = experiment.subjects[name], trials[0].subjects[name]
    when = _only(subject.when)
    if not wanted.urls:
        factors = factors_of_start(subject.environment, subject.limits, subject.replicas)
        anew = f"; started anew for each {listed(factors)}" if factors else ""
        return f"Subject {name}: {subject.manifest}{when}{anew}"
    varied = {key: value for key, value in subject.environment.items() if factors_of_start(value)}
    filled = substitute(varied, trials[0].condition, experiment.factors)
    fixed = [key for key in subject.environment if key not in varied]  # their values may be secrets
    shown = hidden({"environment": filled})["environment"]
    started_with = [f"{key}={level_text(value)}" for key, value in shown.items()]
    started_with += [f"{listed(fixed)} as the experiment has it"] if fixed else []
    must = f"; it must run with {' '.join(started_with)}" if started_with else ""
    servers = {server: settings for trial in trials for server, settings in trial.servers.items()}
    own = [server for server, settings in servers.items() if not registry.is_users(settings)]
    unknown = f"; it knows nothing of {listed(own)}: give what it uses by --server" if own else ""
    return (
        f"Subject {name}: yours, {len(wanted.urls)} {'URL' if len(wanted.urls) == 1 else 'URLs'}{when}{must}{unknown}"
    )


def crashes(run_plan: RunPlan, experiment: Experiment) -> Iterator[str]:
    """A line for each crash, and its note."""
    for crash in experiment.crashes:
        tries = [one for one in run_plan.crashes if one.crash.name == crash.name]
        if not tries:
            yield f"  {crash.name}: not in this run{_why_not(experiment, crash)}"
            continue
        conditions = len({str(one.trial.condition) for one in tries})
        all_of_them = len(conditions_varied(experiment, crash.vary))
        part = f"{conditions} of {all_of_them}" if conditions < all_of_them else f"{conditions}"
        times = len(tries) // conditions
        yield (
            f"  {crash.name}: {crash.title}: {part} {'condition' if all_of_them == 1 else 'conditions'}, "
            f"{'once' if times == 1 else f'{times} times'} each ({_varied(crash)})"
        )
        if crash.note:
            yield f"    {crash.note}"


def preparation(run_plan: RunPlan) -> str:
    """What comes before the trials, for a sentence; empty if nothing does."""
    trials = run_plan.every_trial
    subjects = listed(dict.fromkeys(name for trial in trials for name in trial.subjects))
    data = listed(dict.fromkeys(data.name for trial in trials for data in trial.data))
    doing = [f"starting and warming up {subjects}"] if subjects else []
    doing += [f"writing {data}"] if data else []
    return " and ".join(doing)


def listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, or `a, b and c`."""
    texts = list(words)
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _why_not(experiment: Experiment, crash: Crash) -> str:
    by_user = registry.is_users(experiment.servers[crash.server])
    return f" ({crash.server} is yours, and is never killed)" if by_user else ""


def _varied(crash: Crash) -> str:
    return "; ".join(f"{name} {', '.join(map(level_text, levels))}" for name, levels in crash.vary.items())


def _only(when: Mapping[str, Any]) -> str:
    """` (store redis-hash, redis-json)`; empty for all conditions."""
    texts = {
        factor: [level_text(level) for level in (wanted if isinstance(wanted, list | tuple) else (wanted,))]
        for factor, wanted in when.items()
    }
    said = "; ".join(f"{factor} {', '.join(levels)}" for factor, levels in texts.items())
    return f" ({said})" if said else ""
