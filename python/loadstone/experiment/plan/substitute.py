"""An experiment under one condition: `${factor}` filled in, in the mode and at the scale that it is planned in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loadstone.experiment.spec.experiment import Factor, level_behind
from loadstone.experiment.spec.levels import REFERENCE, Condition, level_text
from loadstone.safety.secrets.references import resolve
from loadstone.text.message import AnyText, text_of
from loadstone.text.units import kind_of, parse

FieldPath = tuple[str | int, ...]


class FieldError(Exception):
    """A value that cannot be used: its path below the part that was read, and what is wrong."""

    def __init__(self, path: FieldPath, problem: AnyText) -> None:
        super().__init__(problem)
        self.path = path
        self.problem = problem


def resolve_factors(
    value: Any, condition: Condition, factors: Mapping[str, Factor], *, template: bool = False, secrets: bool = True
) -> Any:
    """`value` with every `${factor}` and `${factor.name}` replaced, at any depth, and the secrets that are referred to.

    A reference that is the whole value keeps the level's type; inside a text it becomes text.
    The references themselves were checked when the experiment was read. `template`: texts of operations, in which
    braces mean something: those of a secret do not. Without `secrets` their references stay, as they are to be shown.
    """
    if isinstance(value, str):
        whole = REFERENCE.fullmatch(value.strip())
        if whole is not None:
            level = level_behind(whole[1], condition, factors)
            return resolve(level, template=template) if secrets and isinstance(level, str) else level
        filled = REFERENCE.sub(lambda match: level_text(level_behind(match[1], condition, factors)), value)
        return resolve(filled, template=template) if secrets else filled
    if isinstance(value, Mapping):
        return {
            key: resolve_factors(item, condition, factors, template=template, secrets=secrets)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [resolve_factors(item, condition, factors, template=template, secrets=secrets) for item in value]
    return value


def with_units(value: Any, path: FieldPath = ()) -> Any:
    """`value` with texts like `10 kB` as numbers in the fields whose name ends in a unit.

    Raises FieldError where such a text cannot be read.
    """
    if isinstance(value, Mapping):
        return {key: with_units(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_units(item, (*path, index)) for index, item in enumerate(value)]
    kind = kind_of(str(path[-1])) if path else None
    if kind is None or not isinstance(value, str):
        return value
    try:
        return parse(value, kind)
    except ValueError as error:
        raise FieldError(path, text_of(error)) from None


@dataclass(frozen=True)
class PlanMode:
    """What replaces parts of the experiment. Quick and published may be both on; the published counts then win."""

    quick: bool = False
    as_published: bool = False
    scale: float = 1.0
    """Users and rows are so many times those that are written; with the published counts the phases, too."""

    def scaled(self, number: int) -> int:
        """A number of users or rows at this scale; at least 1 of what is at least 1."""
        return max(min(number, 1), round(number * self.scale))


def condition_text(condition: Condition) -> str:
    """`store=redis, users=8`, for messages."""
    return ", ".join(f"{factor}={level_text(level)}" for factor, level in condition.items()) or "the only condition"
