"""A row of an ad-hoc table: one operation, or several in a mix, with what must be stored before."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.commands.targets import Fields


@dataclass(frozen=True)
class LoadRow:
    """What is driven and measured as one."""

    name: str
    """As the table calls it: a level of the factor `operation`."""
    operations: tuple[Fields, ...]
    load: Fields | None = None
    """Stores every key once before; None: nothing need be there."""
    modules: tuple[str, ...] = ()


def operation(name: str, args: str, expect: str, **more: object) -> Fields:
    """An operation of one command."""
    return {"name": name, "commands": [{"args": args, "expect": expect}], **more}


def mix(name: str, weighted: Sequence[tuple[int, Fields]], load: Fields | None = None) -> LoadRow:
    """Several operations as one row; those that have one name are numbered."""
    names = [fields["name"] for _, fields in weighted]
    numbered = []
    for place, (weight, fields) in enumerate(weighted):
        number = f"-{names[: place + 1].count(fields['name'])}" if names.count(fields["name"]) > 1 else ""
        numbered.append({**fields, "name": f"{fields['name']}{number}", "weight": weight})
    return LoadRow(name, tuple(numbered), load)
