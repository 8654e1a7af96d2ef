#!/usr/bin/env python3
"""Fills the lists of keys in docs/run-folder.md and writes docs/run-folder.schema.json; `--check` only compares.

Both come from the models of the record: a key's type is its annotation, its description the docstring below it.
The page lists the keys of each line; the schema describes those of every part within, too.
"""

import ast
import inspect
import json
import re
import sys
import textwrap
import types
from collections.abc import Iterator, Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from generated import keep
from pydantic import BaseModel, Field, RootModel, create_model
from pydantic.dataclasses import is_pydantic_dataclass
from pydantic.fields import FieldInfo

from loadstone.addons.history.tags import Tags
from loadstone.drivers.outcome import Interval, IntervalOperation
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.spec.experiment import ADD_ON_FIELDS
from loadstone.judge.analysis.analysis import ANSWERS, Analysis, Answer
from loadstone.judge.verdict import AnalysisModel
from loadstone.run_folder.crash import CrashRecord
from loadstone.run_folder.facts import TrialFacts
from loadstone.run_folder.look import Look
from loadstone.run_folder.plan_summary import PlanSummary, SearchLine
from loadstone.run_folder.trial import TrialRecord

DOCS = Path(__file__).parents[1] / "docs"
PAGE, SCHEMA = DOCS / "run-folder.md", DOCS / "run-folder.schema.json"


def _written_answer(answer: type[Answer]) -> Any:
    """The type that an add-on's answer has in the file: of a list its elements alone."""
    return answer.model_fields["root"].annotation if issubclass(answer, RootModel) else answer


def _whole_analysis() -> type[BaseModel]:
    """The analysis as it is written, with the answers of all add-ons under their keys."""
    of_core = [(name, (field.annotation, field)) for name, field in Analysis.model_fields.items() if name != "parts"]
    names = [name for name, _ in of_core]
    parts = {
        key: (answer.behind, (_written_answer(answer), Field(default_factory=list))) for key, answer in ANSWERS.items()
    }
    fields: dict[str, Any] = {}
    for name, field in of_core:
        fields |= {name: field, **{key: part for key, (behind, part) in parts.items() if behind == name}}
    last = {key: part for key, (behind, part) in parts.items() if behind not in names}
    return create_model("Analysis", __base__=AnalysisModel, __doc__=Analysis.__doc__, **fields, **last)


WHOLE_ANALYSIS = _whole_analysis()
LISTED: tuple[type[BaseModel], ...] = (
    *(PlanSummary, TrialRecord, TrialFacts, Look, CrashRecord, Interval, IntervalOperation, WHOLE_ANALYSIS, Tags),
)
"""What a line or a document holds, and the facts of a trial."""
NOT_WRITTEN = {
    "Interval": {"operations"},
    "IntervalOperation": {"response_histogram", "service_histogram", "least_histogram"},
}
"""Keys that the driver hands over, and that the folder holds elsewhere."""
BLOCK = re.compile(r"(<!-- keys of (\w+), by make docs -->\n).*?(<!-- end -->)", re.DOTALL)
SCALARS = {int: "integer", float: "number", str: "text", bool: "boolean", type(None): "null", Any: "any", object: "any"}


def is_model(kind: Any) -> bool:
    """Whether it is a model, or a dataclass, which pydantic reads as one."""
    return isinstance(kind, type) and (issubclass(kind, BaseModel) or is_dataclass(kind))


def fields_of(model: type[Any]) -> dict[str, FieldInfo]:
    """Key -> what pydantic knows of it; without those that are never written."""
    if is_dataclass(model) and not is_pydantic_dataclass(model):
        return {one.name: FieldInfo.from_annotation(one.type) for one in dataclass_fields(model)}
    fields = model.model_fields if issubclass(model, BaseModel) else model.__pydantic_fields__
    return {name: field for name, field in fields.items() if not field.exclude}


def descriptions(model: type[Any]) -> dict[str, str]:
    """Key -> the docstring below it, in one line."""
    if model is WHOLE_ANALYSIS:
        return {**descriptions(Analysis), **{key: _one_line(one.__doc__ or "") for key, one in ANSWERS.items()}}
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if is_model(base) and base is not BaseModel:
            (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
            assert isinstance(definition, ast.ClassDef)
            for before, node in zip(definition.body, definition.body[1:], strict=False):
                if isinstance(before, ast.AnnAssign) and isinstance(node, ast.Expr):
                    found[ast.unparse(before.target)] = _one_line(str(ast.literal_eval(node.value)))
    return found


def _one_line(text: str) -> str:
    return re.sub(r"\bNone\b", "null", " ".join(text.split()))


def type_of(annotation: Any) -> str:
    """A type as the page writes it: `[T]` a list, `{T}` a map from names, `T?` a value that may be null."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_of(inner[0])
    if origin is Literal:
        return "text" if all(isinstance(one, str) for one in inner) else "integer"
    if origin in (Union, types.UnionType):
        kinds = list(dict.fromkeys(type_of(one) for one in inner if one is not type(None)))
        return "/".join(kinds) + ("?" if type(None) in inner else "")
    if origin in (list, tuple):
        return f"[{'/'.join(dict.fromkeys(type_of(one) for one in inner if one is not ...))}]"
    if origin in (dict, Mapping):
        return f"{{{type_of(inner[1])}}}"
    return SCALARS.get(annotation) or annotation.__name__


def models_in(annotation: Any) -> Iterator[type[Any]]:
    """The models that a type holds."""
    if is_model(annotation):
        yield annotation
    for inner in get_args(annotation):
        yield from models_in(inner)


def parts_of(model: type[Any], before: set[type[Any]]) -> Iterator[type[Any]]:
    """The models below one, each once, but for the plan, which has a schema of its own."""
    for field in fields_of(model).values():
        for part in models_in(field.annotation):
            if part not in before and part is not Plan:
                before.add(part)
                yield part
                yield from parts_of(part, before)


def keys(model: type[Any]) -> str:
    """A line a key of the model; those that need no description share one."""
    about = descriptions(model)
    left_out = {"format", *NOT_WRITTEN.get(model.__name__, ())}
    lines: list[str] = []
    for name, field in fields_of(model).items():
        kind, written = type_of(field.annotation), field.alias or name
        key = f"`{written}`" if kind in SCALARS.values() else f"`{written}` ({kind})"
        if name in left_out:
            continue
        if name in about:
            lines.append(f"- {key}: {about[name]}")
        elif lines and ": " not in lines[-1]:
            lines[-1] += f", {key}"
        else:
            lines.append(f"- {key}")
    return "".join(f"{line}\n" for line in lines)


def page(text: str) -> str:
    """The page with its lists as the models have them."""
    by_name = {model.__name__: model for model in LISTED}

    def filled(found: re.Match[str]) -> str:
        return f"{found[1]}{keys(by_name[found[2]])}{found[3]}"

    return BLOCK.sub(filled, text)


def schema() -> dict[str, Any]:
    """What each line or document of the folder holds, every part described."""
    definitions: dict[str, Any] = {}
    for model in LISTED:
        made = model.model_json_schema(mode="serialization", ref_template="#/$defs/{model}")
        inner = made.pop("$defs", {})
        for name, one in {**inner, model.__name__: made}.items():
            if definitions.setdefault(name, one) != one:
                raise ValueError(f"two models are called {name}")
    searches = {part.SEARCH for _, part in ADD_ON_FIELDS.items() if part.SEARCH is not None}
    kept = [kind for search in searches for kind in (search.settings, search.step)]
    definitions |= {kind.__name__: kind.model_json_schema(mode="serialization") for kind in kept}
    for search in searches:
        (line, key), (trial, noted) = (SearchLine, "settings"), (TrialRecord, "search")
        definitions[line.__name__]["properties"][key] = _reference(search.settings)
        nothing = {"default": None, "anyOf": [_reference(search.step), {"type": "null"}]}
        definitions[trial.__name__]["properties"][trial.model_fields[noted].alias or noted] = nothing
    for model in {*LISTED, *kept, *(part for root in LISTED for part in parts_of(root, set()))}:
        names = {name: field.alias for name, field in fields_of(model).items() if field.alias}
        for name, text in descriptions(model).items():
            key = names.get(name, name)
            if key in definitions[model.__name__]["properties"]:
                definitions[model.__name__]["properties"][key]["description"] = text
    files = {
        "plan.json": "PlanSummary",
        "trials.jsonl": "TrialRecord",
        "looks.jsonl": "Look",
        "crashes.jsonl": "CrashRecord",
        "analysis.json": "Analysis",
        "tags.json": "Tags",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A run's folder: one document, or one line of a file, is what `files` names",
        "files": {name: {"$ref": f"#/$defs/{model}"} for name, model in files.items()},
        "$defs": dict(sorted(definitions.items())),
    }


def _reference(model: type[BaseModel]) -> dict[str, Any]:
    """What an add-on reads where the core keeps a mapping."""
    return {"$ref": f"#/$defs/{model.__name__}"}


def main() -> int:
    schema_text = json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"
    return keep({PAGE: page(PAGE.read_text(encoding="utf-8")), SCHEMA: schema_text})


if __name__ == "__main__":
    sys.exit(main())
