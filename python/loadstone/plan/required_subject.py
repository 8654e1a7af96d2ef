"""A subject of the experiment under one condition: `${factor}` filled in, texts with a unit as numbers."""

from collections.abc import Mapping
from typing import Any

from loadstone.plan.mode import Mode
from loadstone.plan.required import RequiredSubject
from loadstone.plan.started_by_user import split_urls
from loadstone.plan.workload.substitute import Path, substitute
from loadstone.spec.experiment import Experiment, SubjectSpec
from loadstone.spec.levels import Condition, level_text
from loadstone.spec.spec_part import Duration
from loadstone.spec.units import BYTES, duration_s, parse

REPLICAS_MAX = 64
CPU_MIN = 0.01
MEMORY_MIN_BYTES = 4 * 1024**2


def required_subject(experiment: Experiment, name: str, condition: Condition, mode: Mode) -> RequiredSubject:
    """The subject `name` under a condition. Raises UserError with the line of what is wrong."""
    written = experiment.subjects[name]
    at: Path = ("subjects", name)
    subject = SubjectSpec.model_construct(**substitute(written.model_dump(), condition, experiment.factors))
    replicas = _replicas(experiment, at, subject.replicas)
    limits = _limits(experiment, at, subject.limits)
    environment = _environment(experiment, at, subject.environment)
    warm_up_s = _warm_up_s(experiment, subject.warm_up, mode)
    if written.url is not None:
        urls = _urls(experiment, at, str(subject.url))
        return RequiredSubject(urls=urls, replicas=len(urls), warm_up_s=warm_up_s)
    try:
        manifest = experiment.manifest(str(subject.manifest))
    except ValueError as problem_there:
        raise experiment.source.error((*at, "manifest"), str(problem_there)) from None
    return RequiredSubject(
        manifest=str(manifest), replicas=replicas, limits=limits, environment=environment, warm_up_s=warm_up_s
    )


def _replicas(experiment: Experiment, at: Path, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= REPLICAS_MAX:
        problem = f"'{value}' is not a number of replicas; write a whole number from 1 to {REPLICAS_MAX}"
        raise experiment.source.error((*at, "replicas"), problem)
    return value


def _limits(experiment: Experiment, at: Path, values: Mapping[str, Any]) -> dict[str, object]:
    """CPUs and bytes; without those that are an empty text."""
    limits: dict[str, object] = {}
    for key, value in values.items():
        path: Path = (*at, "limits", key)
        if key not in ("cpu", "memory"):
            raise experiment.source.error(path, "unknown key; known here: cpu, memory")
        if value != "":
            limits[key] = _cpu(experiment, path, value) if key == "cpu" else _memory(experiment, path, value)
    return limits


def _cpu(experiment: Experiment, path: Path, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < CPU_MIN:
        raise experiment.source.error(path, f"'{value}' is not a number of CPUs; write for example 0.5")
    return float(value)


def _memory(experiment: Experiment, path: Path, value: Any) -> int:
    try:
        size = parse(value, BYTES) if isinstance(value, str) else value
    except ValueError as problem:
        raise experiment.source.error(path, str(problem)) from None
    if isinstance(size, bool) or not isinstance(size, int) or size < MEMORY_MIN_BYTES:
        raise experiment.source.error(path, f"'{value}' is too little or no size; write for example 512 MB")
    return size


def _environment(experiment: Experiment, at: Path, values: Mapping[str, Any]) -> dict[str, str]:
    for key, value in values.items():
        if not isinstance(value, str | bool | int | float):
            raise experiment.source.error((*at, "environment", key), f"'{value}' is not a text; put it in quotes")
    return {key: level_text(value) for key, value in values.items()}


def _urls(experiment: Experiment, at: Path, text: str) -> tuple[str, ...]:
    urls = split_urls(text)
    if not urls or not all(url.startswith(("http://", "https://")) for url in urls):
        problem = "the URL of a subject begins with http:// or https://; separate several by commas"
        raise experiment.source.error((*at, "url"), problem)
    return urls


def _warm_up_s(experiment: Experiment, written: Duration | None, mode: Mode) -> float | None:
    quick = experiment.quick.warm_up if mode.quick else None
    warm_up = written if quick is None else quick
    return None if warm_up is None else duration_s(warm_up)
