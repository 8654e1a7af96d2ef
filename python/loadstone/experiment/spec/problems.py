"""What pydantic found wrong, as text for a person: the path in the data and one sentence."""

import re
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from loadstone.experiment.spec.yaml_text import Path
from loadstone.safety.errors import UserError
from loadstone.text.language import translatable
from loadstone.text.message import AnyText, as_it_is, joined, said
from loadstone.text.wording import listed, nearest, shown

_TEXT, _WHOLE, _NUMBER = translatable("text"), translatable("a whole number"), translatable("a number")
_SWITCH, _LIST, _MAPPING = (
    translatable("true or false"),
    translatable("a list"),
    translatable("a mapping (`key: value`)"),
)
_NOUNS = {
    "string_type": _TEXT,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "bool_type": _SWITCH,
    "bool_parsing": _SWITCH,
    "tuple_type": _LIST,
    "list_type": _LIST,
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
}
_REMEDIES = {
    _TEXT: said("put it in quotes"),
    _WHOLE: said("write for example 8"),
    _NUMBER: said("write for example 0.5"),
    _SWITCH: said("write true or false"),
    _LIST: said("write [a, b] or one item a line, each after a dash"),
    _MAPPING: said("write its keys below it, indented"),
}
_LIMITS = {
    "greater_than": ("gt", translatable("{value} must be greater than {limit}")),
    "greater_than_equal": ("ge", translatable("{value} must be at least {limit}")),
    "less_than": ("lt", translatable("{value} must be less than {limit}")),
    "less_than_equal": ("le", translatable("{value} must be at most {limit}")),
}


def first_problem(error: ValidationError, model: type[BaseModel], data: Any) -> tuple[Path, AnyText]:
    """The first problem as (path in `data`, sentence). A union's several complaints become one.

    An unknown key comes before all else: it is often the mistyped name of one that is then missing.
    """
    details = sorted(error.errors(include_url=False), key=lambda detail: detail["type"] != "extra_forbidden")
    path = _path_in(data, details[0]["loc"])
    same = [detail for detail in details if _path_in(data, detail["loc"]) == path]
    return path, _sentence(same, model, path, data)


def _sentence(details: list[ErrorDetails], model: type[BaseModel], path: Path, data: Any) -> AnyText:
    """One sentence about the complaints that pydantic has of one value."""
    detail = details[0]
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "missing":
        form = _form(_models_at(model, path[:-1]), str(path[-1]))
        return said("is missing; write for example `{form}`", form=form) if form else said("is missing; write it")
    if kind == "extra_forbidden":
        known = _known_keys(_models_at(model, path[:-1]), _value_at(data, path[:-1]))
        hint = nearest(str(path[-1]), known)
        return said("unknown key; {hint}known here: {known}", hint=hint, known=listed(known))
    if kind == "value_error":
        return said("{error}", error=context["error"])
    if kind in _LIMITS:
        name, words = _LIMITS[kind]
        return said(words, value=shown(value), limit=context[name])
    if kind == "literal_error":
        return said(
            "{value} is not known; {hint}write {expected}",
            value=shown(value),
            hint=nearest(str(value), _choices(context)),
            expected=_alternatives(context),
        )
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _no_kind(value, [str(_kind(arm)) for arm in _models_at(model, path)])
    if kind == "string_pattern_mismatch":
        return said(
            "{value} is not a valid name; use lower-case letters, digits and hyphens, and begin with a letter",
            value=shown(value),
        )
    if kind in ("too_short", "string_too_short"):
        least = context.get("min_length", 1)
        if least == 1:
            return said("is empty; write at least one entry")
        return said("has too few entries; write at least {least}", least=least)
    if kind == "too_long" and "max_length" in context:
        return said("has too many entries; at most {most:,} are allowed", most=context["max_length"])
    if kind in ("too_long", "string_too_long", "less_than_max"):
        return said("{value} is too long", value=shown(value))
    nouns = list(dict.fromkeys(_NOUNS[d["type"]] for d in details if d["type"] in _NOUNS))
    if nouns:
        return said(
            "{value} is not {required}; {remedy}",
            value=shown(value),
            required=_either([said(noun) for noun in nouns]),
            remedy=_REMEDIES[nouns[0]],
        )
    if kind in ("finite_number", "int_parsing_size"):
        return said("{value} is not a finite number; write one", value=shown(value))
    return said("{value} cannot be used here: {message}", value=shown(value), message=detail["msg"])


def _no_kind(value: object, kinds: list[str]) -> AnyText:
    tag = value.get("kind") if isinstance(value, Mapping) else value
    forms = listed(f"kind: {name}" for name in kinds)
    if tag is None:
        return said("has no kind; write one of: {forms}", forms=forms)
    return said(
        "the kind {kind} is not known; {hint}write one of: {forms}",
        kind=shown(tag),
        hint=nearest(str(tag), kinds),
        forms=forms,
    )


def _either(words: Sequence[AnyText]) -> AnyText:
    """`a`, or `a, b or c`."""
    if len(words) == 1:
        return words[0]
    return said("{first} or {last}", first=joined(", ", words[:-1]), last=words[-1])


def _form(models: Iterable[type[BaseModel]], key: str) -> str:
    """Return how the value of a key is written, with the key; empty where the model has no example of it."""
    forms = (getattr(model, "FORMS", {}).get(key) for model in models)
    return next((f"{key}: {form}" for form in forms if form), "")


def _alternatives(context: Mapping[str, Any]) -> AnyText:
    """What may be written, as pydantic has it: `'a', 'b' or 'c'`."""
    return _either(re.split(r", | or ", str(context["expected"])))


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
class ExperimentSource:
    """The text of an experiment as data, with the line of every key and item.

    `given` names the paths that came from the command line, with the option that gave them.
    """

    label: str
    """The file's name as the user wrote it."""
    data: dict[str, Any]
    lines: Mapping[Path, int] = field(default_factory=dict)
    given: Mapping[Path, str] = field(default_factory=dict)
    digest: str = ""
    """Digest of the text that `data` was read from; empty: the command line itself describes the experiment."""

    def __eq__(self, other: object) -> bool:
        """Where an experiment was written makes no difference to what it says."""
        return isinstance(other, ExperimentSource)

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

    def error(self, path: Path, problem: AnyText) -> UserError:
        """One line: place, dotted path, what is wrong and what helps."""
        dotted = ".".join(str(part) for part in path)
        place = self.place(path)
        known = not dotted or place.endswith(f" {dotted}")  # by the option: `--set workload.pool.connections`
        known = known or (not self.digest and path in self.given)  # no file has it: only the option means something
        in_one_line = as_it_is(problem).changed(lambda part: re.sub(r"\s+", " ", part))
        return UserError("{place}: {problem}", place=place if known else f"{place}: {dotted}", problem=in_one_line)

    def first_problem(self, error: ValidationError, model: type[BaseModel], data: Any = None) -> tuple[Path, AnyText]:
        """The first problem that pydantic found in `data` (the whole text if None), read as `model`: path and words."""
        return first_problem(error, model, self.data if data is None else data)
