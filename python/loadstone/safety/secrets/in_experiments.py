"""The secrets of one experiment's text: learned before anything of it is shown, and refused where they cannot stand."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_texts import REDACTED, is_open
from loadstone.safety.secrets.known import learn, name_factors, spare
from loadstone.safety.secrets.places import Path, secrets_of
from loadstone.safety.secrets.references import resolve
from loadstone.text.message import AnyText, said

_FACTOR = re.compile(r"\$\{(?P<name>[\w-]+)(?:\.(?P<behind>[\w-]+))?\}")
_KEPT_NOWHERE = f"://{REDACTED}@"


def learn_experiment(data: Mapping[str, Any]) -> list[tuple[Path, AnyText]]:
    """Learn every secret that stands in an experiment's data; what is wrong, each with its path.

    A level is printed in every report and tells conditions apart, so none may be a secret itself.
    """
    _learn_names(data)
    problems = []
    for path, value, sure in secrets_of(data):
        learn(value, sure=sure)
        for reference in _FACTOR.finditer(value):
            factor = _mapping(_mapping(data.get("factors")).get(reference["name"]))
            if reference["behind"]:
                for values in _mapping(factor.get("values")).values():
                    learn(str(_mapping(values).get(reference["behind"], "")), sure=sure)
            elif sure and path[:1] != ("factors",):
                problems += [_level_problem(path, reference["name"], level) for level in _secret_levels(factor)]
    return problems


def learn_setting(path: Path, value: object) -> None:
    """Learn the secrets of what an option puts at a path of an experiment, before an error can show it."""
    for part in reversed(path):
        value = {part: value}
    for secret in secrets_of(value):
        learn(secret.value, sure=secret.sure)


def check_given(data: Any, path: Path = ()) -> Iterator[tuple[Path, AnyText]]:
    """References that lead nowhere, and places whose secret a run's folder did not keep; each with its path."""
    if isinstance(data, str):
        if _KEPT_NOWHERE in data:
            yield path, _not_kept()
        try:
            resolve(data)
        except UserError as error:
            yield path, error.message
    elif isinstance(data, Mapping):
        for key, item in data.items():
            yield from check_given(item, (*path, key))
    elif isinstance(data, list | tuple):
        for index, item in enumerate(data):
            yield from check_given(item, (*path, index))
    if not path:
        yield from ((at, _not_kept()) for at, value, _ in secrets_of(data) if value == REDACTED)


def _not_kept() -> AnyText:
    return said(
        "the secret is not kept in a run's folder; give the original experiment, or set it again, best as {reference}",
        reference="${env:NAME}",
    )


def _learn_names(data: Mapping[str, Any]) -> None:
    """What an experiment calls its parts is public, even where a password is spelled alike."""
    factors, workload = _mapping(data.get("factors")), _mapping(data.get("workload"))
    operations = workload.get("operations")
    names = [data.get("name"), *factors, *_mapping(data.get("servers")), *_mapping(data.get("subjects"))]
    for items in (operations, data.get("tables"), data.get("comparisons")):
        names += [_mapping(item).get("name") for item in (items if isinstance(items, list) else ())]
    for factor in factors.values():
        names += [level for level in _levels(_mapping(factor)) if len(str(level)) < 8]
    spare(str(name) for name in names if name)
    name_factors(factors)


def _secret_levels(factor: Mapping[str, Any]) -> list[str]:
    return [level for level in _levels(factor) if isinstance(level, str) and level and not is_open(level)]


def _levels(factor: Mapping[str, Any]) -> list[Any]:
    levels = factor.get("levels")
    return levels if isinstance(levels, list) else []


def _level_problem(path: Path, factor: str, level: str) -> tuple[Path, AnyText]:
    learn(level)
    place = ".".join(map(str, path))
    return ("factors", factor, "levels"), said(
        "a level is the secret of {place}, and levels are printed in every report; write {reference} as the level, or "
        "a name for it and the secret under `values`",
        place=place,
        reference="${env:NAME}",
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
