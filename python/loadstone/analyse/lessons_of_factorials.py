"""Lessons of studies that changed several things at once: what each does, where it saturates, whose CPU it was."""

from collections.abc import Sequence
from statistics import fmean

from loadstone.analyse.effects_answer import EffectsAnswer
from loadstone.analyse.lesson_facts import Found
from loadstone.analyse.saturation_answer import SaturationAnswer
from loadstone.judge.validity.checks import forbidding
from loadstone.judge.verdict import DECIDED
from loadstone.message import Message, message
from loadstone.plan.labels import label_of
from loadstone.record.trial import TrialRecord
from loadstone.spec.experiment import Experiment
from loadstone.spec.levels import REFERENCE, identity, level_text

FREE = 0.05
"""J: of the CPUs that the parts share, less is none to speak of."""


def factors_separated(effects: Sequence[EffectsAnswer], name: str) -> Found:
    """The effects of factors that the original changed together: caught where they depend on each other."""
    answer = next((one for one in effects if one.name == name), None)
    if answer is None or not answer.terms:
        return "unknown", message("lesson_not_compared")
    known = [one for one in answer.terms if one.verdict.kind in DECIDED]
    depend = [one for one in known if one.kind == "interaction" and one.verdict.kind != "equivalent"]
    said = message("lesson_separated", depend=bool(depend), effects=answer.answer)
    if depend:
        return "caught", said
    return "did_not_happen" if len(known) == len(answer.terms) else "unknown", said


def saturation_points(saturations: Sequence[SaturationAnswer]) -> Found:
    """Whether each condition's saturation point has an interval, found by loads that stand still."""
    found = [one for one in saturations if one.users is not None]
    if not saturations:
        return "unknown", message("lesson_no_saturation")
    points = [
        message("lesson_saturates", label=one.label, users=one.users.value, low=one.users.low, high=one.users.high)
        for one in found
        if one.users is not None
    ]
    said = message("lesson_saturation_points", points=points, without=len(saturations) - len(found))
    return "did_not_happen" if len(found) == len(saturations) else "unknown", said


def cpu_of_parts(experiment: Experiment, trials: Sequence[TrialRecord]) -> Found:
    """CPU attributed to each part of every condition, beside the CPUs that servers and applications share.

    Caught where nothing of them is free: more processes then share what there is.
    """
    by_condition: dict[str, list[TrialRecord]] = {}
    for trial in trials:
        if not forbidding(trial) and trial.cpu_s and trial.duration_s > 0:
            by_condition.setdefault(identity(trial.condition), []).append(trial)
    said: list[Message] = []
    full = 0
    for members in by_condition.values():
        cpus = _cpus(members[0])
        shares = _shares(members, apart=_apart(experiment, members[0]))
        used = sum(shares.values())
        full += cpus > 0 and used >= (1 - FREE) * cpus
        parts = [message("lesson_cpu_of", part=part, cores=cores) for part, cores in shares.items()]
        label = label_of(experiment, members[0].condition)
        said.append(message("lesson_cpu_of_condition", label=label, parts=parts, used=used, cpus=cpus))
    if not said:
        return "unknown", message("lesson_cpu_unknown")
    answer = message("lesson_cpu", conditions=said, full=full)
    return "caught" if full else "did_not_happen", answer


def _cpus(trial: TrialRecord) -> int:
    """How many CPUs servers and applications share; 0 where that is not known."""
    placement = trial.facts.placement
    return 0 if placement is None else len(placement.server_cpus)


def _apart(experiment: Experiment, trial: TrialRecord) -> set[str]:
    """Servers with CPUs of their own under a trial's condition: they take nothing of what the others share."""
    found = set()
    for name, settings in experiment.servers.items():
        written = str(settings.get("cpus", ""))
        if (match := REFERENCE.fullmatch(written)) is not None:
            factor, _, value = match[1].partition(".")
            level = trial.condition[factor]
            written = str(experiment.factors[factor].values[level_text(level)][value] if value else level)
        if written == "own":
            found.add(name)
    return found


def _shares(trials: Sequence[TrialRecord], apart: set[str]) -> dict[str, float]:
    """Part -> its CPU in cores, over all trials, of those that share CPUs with the application; the largest first."""
    elsewhere = {"generator", "loadstone", *apart}
    names = {part for trial in trials for part in trial.cpu_s if part not in elsewhere and not part.endswith(".link")}
    mean = {part: fmean(trial.cpu_s.get(part, 0.0) / trial.duration_s for trial in trials) for part in names}
    return dict(sorted(mean.items(), key=lambda one: -one[1]))
