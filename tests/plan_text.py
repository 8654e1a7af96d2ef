"""The plan of a run as JSON that is small and the same wherever it is made, and how two such plans differ."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

PLAN = ".plan.json"
"""What the name of such a file ends with."""
PART_CHARACTERS = 120
"""Of a value that is written once among the parts, wherever it stands in the plan."""
_PLACE = "#"
_WRITTEN = {"search": "saturation"}
"""Field -> the key that it has in `plan.json`, too. What is not compared follows from the rest, and is left out."""
_OF_A_TRIAL = ("block", "load", "name", "order", "plan", "seed")
"""What differs between trials of a condition: it stands beside the place of all that does not."""


def plan_text(plan: object, without_places: Callable[[str], str]) -> bytes:
    """A plan, with all of its fields sorted by name. `without_places` takes paths of this machine out of a text."""
    parts = _Parts(without_places)
    whole = parts.of(plan)
    return (json.dumps({"plan": whole, "parts": parts.values}, ensure_ascii=False) + "\n").encode()


def differing(before: bytes, after: bytes) -> Iterator[str]:
    """A line for each value that differs, by its path: `plan.trials.3.order: 1 -> 2`."""
    old, new = json.loads(before), json.loads(after)
    yield from _Walk(old["parts"], new["parts"]).of("plan", old["plan"], new["plan"])


class _Parts:
    def __init__(self, without_places: Callable[[str], str]) -> None:
        self.values: list[Any] = []
        self._without_places = without_places
        self._known: dict[str, Any] = {}
        self._seen: dict[int, tuple[object, Any]] = {}
        """By identity, with the object, so that no other one gets its identity."""

    def of(self, value: object) -> Any:
        """The value as JSON has it; in the place of a long one stands where it is among the parts."""
        if isinstance(value, str):
            return self._without_places(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if id(value) not in self._seen:
            self._seen[id(value)] = (value, self._whole(value))
        return self._seen[id(value)][1]

    def _whole(self, value: object) -> Any:
        data = self._plain(value)
        own = {}
        if isinstance(data, dict) and ("seed" in data or "order" in data):
            own = {name: data.pop(name) for name in _OF_A_TRIAL if name in data}
        text = json.dumps(data)
        if len(text) < PART_CHARACTERS:
            return data | own if own else data
        if text not in self._known:
            self._known[text] = {_PLACE: len(self.values)}
            self.values.append(data)
        return self._known[text] | own

    def _plain(self, value: object) -> Any:
        if isinstance(value, Mapping):
            return {str(name): self.of(value[name]) for name in sorted(value, key=str)}
        if isinstance(value, BaseModel):
            return {name: self.of(getattr(value, name)) for name in sorted(type(value).model_fields)}
        if dataclasses.is_dataclass(value):
            found = {one.name: getattr(value, one.name) for one in dataclasses.fields(value) if one.compare}
            named = {_WRITTEN.get(name, name): one for name, one in found.items()}
            return {name: self.of(named[name]) for name in sorted(named)}
        if isinstance(value, list | tuple):
            return [self.of(one) for one in value]
        raise TypeError(f"a plan holds a {type(value).__name__}: say how it is written")


class _Walk:
    def __init__(self, old_parts: list[Any], new_parts: list[Any]) -> None:
        self._parts = (old_parts, new_parts)
        self._same: set[tuple[str, str]] = set()
        """Values that were found to be the same, as they are written."""

    def of(self, path: str, old: Any, new: Any) -> Iterator[str]:
        written = (str(old), str(new))
        if written in self._same:
            return
        differ = False
        for line in self._below(path, *(map(_whole, (old, new), self._parts))):
            differ = True
            yield line
        if not differ:
            self._same.add(written)

    def _below(self, path: str, old: Any, new: Any) -> Iterator[str]:
        if isinstance(old, dict) and isinstance(new, dict):
            pairs = [(name, old.get(name), new.get(name)) for name in sorted({*old, *new})]
        elif isinstance(old, list) and isinstance(new, list):
            pairs = [(str(at), *both) for at, both in enumerate(zip(old, new, strict=False))]
            if len(old) != len(new):
                yield f"{path}: {len(old)} -> {len(new)} values"
        else:
            if type(old) is not type(new) or old != new:
                yield f"{path}: {_short(old)} -> {_short(new)}"
            return
        for name, one, other in pairs:
            yield from self.of(f"{path}.{name}", one, other)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:100]}..."


def _whole(value: Any, parts: list[Any]) -> Any:
    if not isinstance(value, dict) or _PLACE not in value:
        return value
    own = {name: one for name, one in value.items() if name != _PLACE}
    return parts[value[_PLACE]] | own if own else parts[value[_PLACE]]
