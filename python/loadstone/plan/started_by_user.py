"""A subject by URL was started by the user, once: what the conditions vary must not be what it was started with."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from loadstone.errors import UserError
from loadstone.plan.workload.substitute import substitute
from loadstone.spec.experiment import Experiment
from loadstone.spec.levels import REFERENCE, Condition, fits, level_text


def check_started_by_user(experiment: Experiment, conditions: Iterable[Condition]) -> None:
    """Raises UserError where a subject by URL would have to be started otherwise for some of the conditions."""
    measured = list(conditions)
    for name, subject in experiment.subjects.items():
        if subject.url is None:
            continue
        there = [condition for condition in measured if fits(condition, subject.when)]
        place, urls = experiment.source.place(("subjects", name)), len(split_urls(subject.url))
        for factor in factors_of_start(subject.environment, subject.limits, subject.replicas):
            levels = list(dict.fromkeys(level_text(condition[factor]) for condition in there))
            if len(levels) > 1:
                raise UserError(
                    f"{place}: {factor} changes what {name} is started with; "
                    f"choose one level: --only {factor}={levels[0]}"
                )
        replicas = substitute(subject.replicas, there[0], experiment.factors) if there else urls
        if replicas not in (subject.replicas, urls):
            raise UserError(f"{place}: replicas of {name} are {replicas}, and URLs given are {urls}; give one for each")


def split_urls(text: str) -> tuple[str, ...]:
    """The URLs of replicas, which stand between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def factors_of_start(*parts: Any) -> list[str]:
    """The factors that stand in settings of a subject, each once."""
    texts = (text for part in parts for text in _texts(part))
    return list(dict.fromkeys(match[1].partition(".")[0] for text in texts for match in REFERENCE.finditer(text)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
