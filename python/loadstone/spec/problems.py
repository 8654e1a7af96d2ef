"""What pydantic found wrong, as text for a person: the path in the data and one sentence."""

import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path as FilePath
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from loadstone.errors import UserError
from loadstone.spec.yaml_text import Path

_NOUNS = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping (`key: value`)",
    "model_type": "a mapping (`key: value`)",
    "model_attributes_type": "a mapping (`key: value`)",
}
_REMEDIES = {
    "text": "put it in quotes",
    "a whole number": "write for example 8",
    "a number": "write for example 0.5",
    "true or false": "write true or false",
    "a list": "write [a, b] or one item a line, each after a dash",
    "a mapping (`key: value`)": "write its keys below it, indented",
}
_LIMITS = {
    "greater_than": ("gt", "must be greater than {}"),
    "greater_than_equal": ("ge", "must be at least {}"),
    "less_than": ("lt", "must be less than {}"),
    "less_than_equal": ("le", "must be at most {}"),
}


def first_problem(error: ValidationError, model: type[BaseModel], data: Any) -> tuple[Path, str]:
    """The first problem as (path in `data`, sentence). A union's several complaints become one.

    An unknown key comes before all else: it is often the mistyped name of one that is then missing.
    """
    details = sorted(error.errors(include_url=False), key=lambda detail: detail["type"] != "extra_forbidden")
    path = _path_in(data, details[0]["loc"])
    same = [detail for detail in details if _path_in(data, detail["loc"]) == path]
    return path, _sentence(same, model, path, data)


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean 'x'? `, or nothing where no known word is near, or where the word is a number."""
    close = get_close_matches(word, list(known), n=1) if not word.replace(".", "").isdecimal() else []
    return f"did you mean '{close[0]}'? " if close else ""


def listed(words: Iterable[object]) -> str:
    """`a, b, c`, or `none` where there are none."""
    return ", ".join(str(word) for word in words) or "none"


def shown(value: object) -> str:
    """A value as it stands in a message: short, texts in quotes."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "a list"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = text if len(text) <= 60 else text[:57] + "..."
    return f"'{text}'"


def _sentence(details: list[ErrorDetails], model: type[BaseModel], path: Path, data: Any) -> str:
    """One sentence about the complaints that pydantic has of one value."""
    detail = details[0]
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "missing":
        return f"is missing; write {_form(_models_at(model, path[:-1]), str(path[-1])) or 'it'}"
    if kind == "extra_forbidden":
        known = _known_keys(_models_at(model, path[:-1]), _value_at(data, path[:-1]))
        return f"unknown key; {nearest(str(path[-1]), known)}known here: {listed(known)}"
    if kind == "value_error":
        return str(context["error"])
    if kind in _LIMITS:
        name, words = _LIMITS[kind]
        return f"{shown(value)} {words.format(context[name])}"
    if kind == "literal_error":
        return f"{shown(value)} is not known; {nearest(str(value), _choices(context))}write {context['expected']}"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        tag = value.get("kind") if isinstance(value, Mapping) else value
        kinds = [str(_kind(arm)) for arm in _models_at(model, path)]
        said = "has no kind; " if tag is None else f"the kind {shown(tag)} is not known; {nearest(str(tag), kinds)}"
        return f"{said}write one of: {listed(f'kind: {name}' for name in kinds)}"
    if kind == "string_pattern_mismatch":
        return f"{shown(value)} is not a name; use small letters, digits and dashes, a letter first"
    if kind in ("too_short", "string_too_short"):
        least = context.get("min_length", 1)
        return "is empty; write at least one entry" if least == 1 else f"has too few entries; write at least {least}"
    if kind == "too_long" and "max_length" in context:
        return f"has too many entries; write at most {context['max_length']:,}"
    if kind in ("too_long", "string_too_long", "less_than_max"):
        return f"{shown(value)} is too long"
    nouns = list(dict.fromkeys(_NOUNS[d["type"]] for d in details if d["type"] in _NOUNS))
    if nouns:
        required = nouns[0] if len(nouns) == 1 else f"{', '.join(nouns[:-1])} or {nouns[-1]}"
        return f"{shown(value)} is not {required}; {_REMEDIES[nouns[0]]}"
    return f"{shown(value)}: {detail['msg']}"


def _form(models: Iterable[type[BaseModel]], key: str) -> str:
    """How the value of a key is written, with the key, in quotes; empty where the model has no example of it."""
    forms = (getattr(model, "FORMS", {}).get(key) for model in models)
    return next((f"for example `{key}: {form}`" for form in forms if form), "")


def _choices(context: Mapping[str, Any]) -> list[str]:
    return [word.strip("'\" ") for word in str(context["expected"]).replace(" or ", ",").split(",")]


def _path_in(data: Any, location: tuple[int | str, ...]) -> Path:
    """The part of pydantic's location that is a path in the data: without the names of a union's arms."""
    path: list[int | str] = []
    for index, part in enumerate(location):
        if _holds(data, part):
            path.append(part)
            data = data[part]
        elif index == len(location) - 1 and isinstance(data, Mapping):
            path.append(part)
    return tuple(path)


def _value_at(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


def _holds(data: Any, part: int | str) -> bool:
    """Whether `part` is a key or an index of the data."""
    if isinstance(data, Mapping):
        return part in data
    return isinstance(data, list | tuple) and isinstance(part, int) and part < len(data)


def _models_at(annotation: Any, path: Path) -> list[type[BaseModel]]:
    """The models that may stand at `path` below a model or another annotation."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _models_at(get_args(annotation)[0], path)
    if origin in (Union, types.UnionType):
        return [model for arm in get_args(annotation) for model in _models_at(arm, path)]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if not path:
            return [annotation]
        below = annotation.model_fields.get(str(path[0]))
        return _models_at(below.annotation, path[1:]) if below else []
    if path and origin is dict:
        return _models_at(get_args(annotation)[1], path[1:])
    if path and origin in (tuple, list):
        return _models_at(get_args(annotation)[0], path[1:])
    return []


def _known_keys(models: list[type[BaseModel]], value: Any) -> list[str]:
    """The keys of the models; of those with a `kind`, only of the one that the value names."""
    kind = value.get("kind") if isinstance(value, Mapping) else None
    meant = [model for model in models if "kind" not in model.model_fields or _kind(model) == kind]
    return list(dict.fromkeys(key for model in meant or models for key in model.model_fields))


def _kind(model: type[BaseModel]) -> Any:
    return model.model_fields["kind"].default


@dataclass(frozen=True, eq=False)
class Source:
    """The text of an experiment as data, with the line of every key and item.

    `given` names the paths that came from the command line, with the option that gave them.
    """

    label: str
    """The file's name as the user wrote it."""
    data: dict[str, Any]
    lines: Mapping[Path, int] = field(default_factory=dict)
    given: Mapping[Path, str] = field(default_factory=dict)
    digest: str = ""
    """Of the text that `data` was read from; empty: the command line itself describes the experiment."""

    def __eq__(self, other: object) -> bool:
        """Where an experiment was written makes no difference to what it says."""
        return isinstance(other, Source)

    @property
    def folder(self) -> FilePath:
        """The folder of the file: paths inside of it count from there."""
        return FilePath(self.label).absolute().parent

    def place(self, path: Path) -> str:
        """`file.yaml:12` for a key, or the command-line option that gave it."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.given:
                return self.given[path[:length]]
            if path[:length] in self.lines:
                return f"{self.label}:{self.lines[path[:length]]}"
        return f"{self.label}:1"

    def error(self, path: Path, problem: str) -> UserError:
        """One line: place, dotted path, what is wrong and what helps."""
        dotted = ".".join(str(part) for part in path)
        place = self.place(path)
        said = not dotted or place.endswith(f" {dotted}")  # by the option: `--set workload.pool.connections`
        where = f"{place}: " if said else f"{place}: {dotted}: "
        return UserError(where + " ".join(problem.split()))

    def first_problem(self, error: ValidationError, model: type[BaseModel], data: Any = None) -> tuple[Path, str]:
        """The first problem that pydantic found in `data` (the whole text if None), read as `model`: path and words."""
        return first_problem(error, model, self.data if data is None else data)
