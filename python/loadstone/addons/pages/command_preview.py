"""What a command line would do, by the very functions that carry it out: parsed, checked, planned, and not started.

Works in a process apart (`reader_process.py`): reading an experiment teaches this process its secrets and names.
"""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from typer.exceptions import TyperException

from loadstone.addons.pages.experiment_facts import (
    ExperimentFacts,
    FactorFacts,
    LevelFacts,
    PartFacts,
    SettingFacts,
)
from loadstone.addons.pages.settings import ShownConsent
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.plan.run_size import extent
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.levels import is_level, level_text, same_level
from loadstone.experiment.spec.loading import find_source, read_source, validate_source
from loadstone.report.figure_format import rough_time
from loadstone.run.command_line import files_of_folder
from loadstone.run.describe import describe, shortcomings
from loadstone.run.prepare import requested_experiment, requested_plan
from loadstone.run.request import RunRequest
from loadstone.safety.bounds.describe_only import forbid_connections
from loadstone.safety.errors import LoadstoneError, UserError
from loadstone.safety.secrets.known import redact
from loadstone.text.language import of_author, translated
from loadstone.text.sentences import render_message
from loadstone.text.units import duration_s

_LINE = re.compile(r"^[^\s:]*:(\d{1,7}):")
"""`file.yaml:12: ...`."""


@dataclass(frozen=True)
class Described:
    """What a command line would do."""

    experiment: str
    question: str
    extent: tuple[str, ...]
    """How much is measured, in what time."""
    shortcomings: tuple[str, ...]
    """Which comparisons may get no verdict, and why."""
    lines: tuple[str, ...]
    """The whole description, as `loadstone show` has it."""
    acts: tuple[str, ...]
    """What a run does here, a line an act."""
    asked: tuple[str, ...]
    """Actions among these that are not done before the user said yes."""
    summary: str
    """How many of these there are of each kind."""
    measured: Mapping[str, tuple[str, ...]]
    """Factor -> its levels that are measured, as the form has them: a quick run leaves out others."""
    shown: ShownConsent
    """What an answer to them would allow; without a hash where nothing is asked."""


class _Found(Exception):
    """The options that would have been carried out."""

    def __init__(self, options: RunRequest) -> None:
        super().__init__()
        self.options = options


def described(words: Sequence[str], variables: Mapping[str, str]) -> Described:
    """What `loadstone WORDS` would do. `variables`: secrets, as the run's environment will have them.

    Raises UserError, with what the command line would print.
    """
    os.environ.update(variables)
    with forbid_connections():
        return _described(_options(words))


def agreed(words: Sequence[str], variables: Mapping[str, str], shown: ShownConsent) -> bool:
    """Keep that the user read what this command line would do and said yes; False where it would do more by now.

    The contents alone do not say it: a run's folder keeps its command, and the environment what variables hold.

    Raises UserError.
    """
    from loadstone.run.consent import remember_answer

    os.environ.update(variables)
    with forbid_connections():
        options = _options(words)
        digest, acts = _asked(options, *_planned(options))
        if digest != shown.digest or not {act.line for act in acts} <= set(shown.acts):
            return False
        remember_answer(digest, acts)
    return True


def facts(word: str) -> ExperimentFacts:
    """What a form of this experiment is made from. Raises UserError."""
    with forbid_connections():
        return _facts(word, validate_source(find_source(word)))


def checked(source: str, label: str) -> str:
    """What is wrong with the text of an experiment; empty where nothing is."""
    with forbid_connections():
        try:
            options = RunRequest(described=read_source(source, label))
            _planned(options)
        except LoadstoneError as error:
            return str(error)
    return ""


def line_of(error: str) -> int | None:
    """The line of the experiment's file that an error is about."""
    found = _LINE.match(error)
    return int(found[1]) if found else None


def _options(words: Sequence[str]) -> RunRequest:
    """What the command line asks for, up to where it would be carried out. Raises UserError."""
    from loadstone.addons.pages.whole_command import COMMAND
    from loadstone.cli.carry_out import describe_or_measure
    from loadstone.cli.command import usage_error

    def take(options: RunRequest) -> NoReturn:
        raise _Found(options)

    sys.argv = ["loadstone", *words]
    try:
        with describe_or_measure(take):
            COMMAND(list(words), prog_name="loadstone", standalone_mode=False)
    except _Found as found:
        return found.options
    except TyperException as error:
        raise UserError.of(usage_error(error)) from None
    raise UserError("this command does not measure")


def _described(options: RunRequest) -> Described:
    from loadstone.run.consent import summary

    experiment, run_plan = _planned(options)
    lines, acts = describe(experiment, run_plan, options)
    digest, asked = _asked(options, experiment, run_plan)
    return Described(
        experiment=redact(experiment.name),
        question=redact(of_author(experiment.question)),
        extent=tuple(redact(render_message(one)) for one in extent(run_plan)),
        shortcomings=tuple(redact(render_message(one)) for one in shortcomings(run_plan)),
        lines=tuple(redact(lines).splitlines()),
        acts=tuple(acts),
        asked=tuple(act.spoken for act in asked),
        summary=summary(asked),
        measured=_measured(run_plan),
        shown=ShownConsent(digest, tuple(act.line for act in asked)),
    )


def _measured(run_plan: RunPlan) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for trial in run_plan.every_trial:
        for factor, level in trial.condition.items():
            found.setdefault(factor, {})[level_text(level)] = None
    return {factor: tuple(levels) for factor, levels in found.items()}


def _planned(options: RunRequest) -> tuple[Experiment, RunPlan]:
    experiment = requested_experiment(options)
    return experiment, requested_plan(experiment, options)


def _asked(options: RunRequest, experiment: Experiment, run_plan: RunPlan) -> tuple[str, list[Any]]:
    from loadstone.run.consent import to_ask
    from loadstone.run_folder.earlier_runs import files_sent

    sent = files_of_folder() if options.of_folder else files_sent(options.command)
    return to_ask(
        experiment,
        run_plan,
        of_folder=options.of_folder,
        secret_files=options.secret_files,
        files_sent=sent,
    )


def _facts(word: str, experiment: Experiment) -> ExperimentFacts:
    schema = _schema()
    settings = tuple(_settings(experiment, schema))
    users = next((one for one in settings if one.path == "workload.model.users"), None)
    quick = experiment.quick
    return ExperimentFacts(
        word=word,
        name=experiment.name,
        question=of_author(experiment.question),
        description=of_author(experiment.description),
        factors=tuple(
            FactorFacts(
                name,
                of_author(factor.title),
                factor.unit,
                tuple(
                    LevelFacts(
                        level_text(level), is_level(level, factor.on_by_default), same_level(level, factor.usual)
                    )
                    for level in factor.levels
                ),
            )
            for name, factor in experiment.factors.items()
        ),
        servers=tuple(PartFacts(name, str(one.get("kind", ""))) for name, one in experiment.servers.items()),
        subjects=tuple(PartFacts(name, str(one.manifest or "")) for name, one in experiment.subjects.items()),
        users=users,
        settings=tuple(one for one in settings if one is not users),
        budget=_length(experiment.design.budget),
        quick_budget=_length(getattr(getattr(quick, "design", None), "budget", None)),
        as_published=experiment.as_published is not None,
    )


def _length(text: object) -> str:
    """A length of time as it is printed; empty for none."""
    return rough_time(duration_s(text)) if text else ""


def _schema() -> dict[str, Any]:
    """The JSON Schema of a plan, whose words the workload of an experiment speaks."""
    from loadstone.experiment.plan.drive_plan import Plan

    return Plan.model_json_schema()


def _settings(experiment: Experiment, schema: Mapping[str, Any]) -> list[SettingFacts]:
    """The numbers below `workload` that stand for all conditions: each with the bounds that the schema gives it."""
    found: list[SettingFacts] = []
    kinds = schema["$defs"]
    whole = experiment.workload.model_dump(mode="json", by_alias=True)

    def add(data: Mapping[str, Any], properties: Mapping[str, Any], path: str) -> None:
        for key, value in data.items():
            there = properties.get(key, {})
            named = next((one["$ref"] for one in (there, *there.get("anyOf", ())) if "$ref" in one), None)
            place = f"{path}.{key}"
            if isinstance(value, Mapping):
                variants = [named] if named else [one["$ref"] for one in there.get("oneOf", ()) if "$ref" in one]
                known = {k: v for ref in variants for k, v in kinds[ref.split("/")[-1]].get("properties", {}).items()}
                add(value, known, place)
            elif isinstance(value, int | float) and not isinstance(value, bool) and there:
                bounds = [there, *there.get("anyOf", ())]
                found.append(
                    SettingFacts(
                        place,
                        str(value),
                        " ".join(translated(str(there.get("description", ""))).split()),
                        _bound(bounds, "minimum", "exclusiveMinimum"),
                        _bound(bounds, "maximum", "exclusiveMaximum"),
                    )
                )

    add(whole, schema["properties"], "workload")
    return found


def _bound(there: Sequence[Mapping[str, Any]], *names: str) -> float | None:
    return next((one[name] for one in there for name in names if name in one), None)
