"""The commands of an operation as the plan has them: arguments apart, placeholders known."""

import re
from collections.abc import Mapping
from typing import Any

from loadstone.plan.substitute import FieldError, Path
from loadstone.spec.levels import level_text

_ARGUMENT = re.compile(r"(?:\{[^{}]*\}|\S)+")
_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_KNOWN = re.compile(
    r"key|document|id|version|field|body|field_json|changed|value|seq"
    r"|uniform -?[0-9]+\.\.-?[0-9]+|random [0-9]+ lowercase"
)
_REMEDY = (
    "placeholders are: {key}, {document}, {id}, {version}, {field}, {body}, {field_json}, {changed}, {value}, "
    "{seq}, {uniform 1..100}, {random 10 lowercase}; write {{ for a literal brace"
)


def with_arguments(command: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The command with its `args` as a list of texts, split at spaces where they were written as one text.

    Raises FieldError for a placeholder that no driver knows.
    """
    if "args" not in command:
        return dict(command)
    written = command["args"]
    arguments = _ARGUMENT.findall(written) if isinstance(written, str) else written
    if isinstance(arguments, list):
        arguments = [level_text(one) if isinstance(one, bool | int | float) else one for one in arguments]
        for text in arguments:
            _placeholders(text, (*path, "args"))
    return {**command, "args": arguments}


def _placeholders(text: object, path: Path) -> None:
    for found in _BRACES.finditer(text if isinstance(text, str) else ""):
        if found[0] not in ("{{", "}}") and not (found[1] and _KNOWN.fullmatch(found[1])):
            raise FieldError(path, f"'{found[0]}' is no placeholder; {_REMEDY}")
