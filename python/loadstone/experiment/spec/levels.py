"""Levels of factors: how they are distinguished, and the references to them in a text."""

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

Level = str | int | float | bool
Condition = dict[str, Level]
"""A level for each factor."""

REFERENCE = re.compile(r"\$\{(?!(?:env|secret):)([^{}]*)\}")
"""`${factor}` or `${factor.name}`; group 1 is what stands between the braces. Secrets are referred to otherwise."""


def factors_in(text: str) -> Iterator[str]:
    """The factors that a text refers to, in their order."""
    return (match[1].partition(".")[0] for match in REFERENCE.finditer(text))


def level_text(level: Level) -> str:
    """A level as it is written in YAML."""
    return str(level).lower() if isinstance(level, bool) else str(level)


def same_level(one: Level, other: Level) -> bool:
    """Whether two levels are one: `true` is not 1, and `1` in quotes is not the number."""
    kinds = {bool: "bool", int: "number", float: "number", str: "text"}
    return kinds[type(one)] == kinds[type(other)] and one == other


def identity(condition: Mapping[str, Level]) -> str:
    """A condition as canonical text, which tells `1` from `"1"` and from `true`."""
    return json.dumps(dict(condition), sort_keys=True, ensure_ascii=False)


def drop_factors(condition: Condition, factors: Container[str]) -> Condition:
    """A condition without the levels of these factors."""
    return {name: level for name, level in condition.items() if name not in factors}


def is_level(level: Level, levels: Iterable[Level]) -> bool:
    """Whether `level` is one of `levels`."""
    return any(same_level(level, known) for known in levels)


def matches(condition: Condition, when: Mapping[str, Any], without: Iterable[str] = ()) -> bool:
    """Whether a condition has, for each factor of `when`, its level or one of its levels.

    Factors of `drop_factors` are not queried.
    """
    requested = when.keys() - set(without)
    return all(is_level(condition[factor], _several(when[factor])) for factor in requested)


def _several(levels: Any) -> Iterable[Level]:
    return levels if isinstance(levels, list | tuple) else (levels,)
