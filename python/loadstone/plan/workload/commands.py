"""The commands and requests of an operation as the plan has them: arguments apart, placeholders known."""

import re
from collections.abc import Mapping
from typing import Any

from loadstone.bounds.replies import shortened
from loadstone.plan.workload.several_keys import as_arguments, as_text
from loadstone.plan.workload.substitute import FieldError, Path
from loadstone.spec.levels import level_text

REPEAT_MAX = 100_000
_ARGUMENT = re.compile(r"(?:\{[^{}]*\}|\S)+")
_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_BOTH = "key|document|id|version|field|body|field_json|value|seq"
_DRAWN = "uniform -?[0-9]{1,19}\\.\\.-?[0-9]{1,19}|random [0-9]{1,19} lowercase"
_KEYS, _NUMBERS = "key[1-9][0-9]{0,4}|keys:[0-9]{1,5}", "number[1-9][0-9]{0,4}|numbers:[0-9]{1,5}"
_IN_COMMANDS = re.compile(f"{_BOTH}|{_KEYS}|changed|message|data\\..+|{_DRAWN}")
_IN_REQUESTS = re.compile(f"{_BOTH}|number|{_KEYS}|{_NUMBERS}|data\\..+|{_DRAWN}")
_IN_REPLIES = re.compile(f"{_BOTH}|number|data\\..+")
_LITERAL = "write {{ and }} for literal braces"
_COMMAND_REMEDY = (
    "placeholders are: {key}, {key2}, {keys:10}, {document}, {id}, {version}, {field}, {body}, {field_json}, "
    "{changed}, {value}, {seq}, {message}, {data.FIELD}, {uniform 1..100}, {random 10 lowercase}; "
    "write {{ for a literal brace"
)
_REQUEST_REMEDY = (
    "placeholders are: {number}, {number2}, {numbers:10}, {data.FIELD}, {key}, {key2}, {keys:10}, {id}, "
    "{document}, {version}, {field}, {body}, {field_json}, "
    f"{{value}}, {{seq}}, {{uniform 1..100}}, {{random 10 lowercase}}; {_LITERAL}"
)
_REPLY_REMEDY = f"what is expected must be the same wherever an operation uses it, as {{number}} or {{seq}}; {_LITERAL}"


def with_arguments(command: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The command with its `args` as a list of texts, split at spaces where they were written as one text.

    `{keys:10}` becomes ten of them, and `repeat: N` sends the last one N times. Raises FieldError for a
    placeholder that no driver knows.
    """
    if "args" not in command:
        return dict(command)
    rest = {name: value for name, value in command.items() if name != "repeat"}
    written = command["args"]
    arguments = _ARGUMENT.findall(written) if isinstance(written, str) else written
    if isinstance(arguments, list):
        arguments = [level_text(one) if isinstance(one, bool | int | float) else one for one in arguments]
        for text in arguments:
            _placeholders(text, (*path, "args"), _IN_COMMANDS, _COMMAND_REMEDY)
        arguments = [one for text in arguments for one in _each(text, (*path, "args"))]
        arguments += arguments[-1:] * (_repeat(command.get("repeat", 1), (*path, "repeat")) - 1)
    return {**rest, "args": arguments}


def with_keys(request: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The HTTP request with `{keys:10}` as ten keys, separated by commas.

    Raises FieldError for a placeholder that no driver knows, also in what is expected of a reply.
    """
    _check_request(request, path)
    written, headers = {name: request.get(name) for name in ("path", "body")}, request.get("headers")
    try:
        named = {name: as_text(text) for name, text in written.items() if isinstance(text, str)}
        if isinstance(headers, Mapping):
            texts = {name: as_text(text) for name, text in headers.items() if isinstance(text, str)}
            return {**request, **named, "headers": {**headers, **texts}}
    except ValueError as error:
        raise FieldError(path, str(error)) from None
    return {**request, **named}


def _each(text: Any, path: Path) -> list[Any]:
    try:
        return as_arguments(text) if isinstance(text, str) else [text]
    except ValueError as error:
        raise FieldError(path, str(error)) from None


def _check_request(request: Mapping[str, Any], path: Path) -> None:
    for name in ("path", "body"):
        _placeholders(request.get(name), (*path, name), _IN_REQUESTS, _REQUEST_REMEDY)
    headers, expect = request.get("headers"), request.get("expect")
    for name, text in headers.items() if isinstance(headers, Mapping) else ():
        _placeholders(text, (*path, "headers", name), _IN_REQUESTS, _REQUEST_REMEDY)
    expected = expect if isinstance(expect, Mapping) else {}
    for name in ("equals", "contains"):
        _placeholders(expected.get(name), (*path, "expect", name), _IN_REPLIES, _REPLY_REMEDY)


def literal_braces(text: str) -> str:
    """The text of a request with braces doubled that belong to no placeholder, as those of JSON; what has `{{` stays.

    JSON has no `{{`: such a text doubles its braces itself.
    """
    if "{{" in text:
        return text
    parts = re.split(r"(\{[^{}]*\})", text)
    return "".join(part if _is_placeholder(part) else part.replace("{", "{{").replace("}", "}}") for part in parts)


def _is_placeholder(text: str) -> bool:
    return text[:1] == "{" and text[-1:] == "}" and _IN_REQUESTS.fullmatch(text[1:-1]) is not None


def _repeat(times: Any, path: Path) -> int:
    if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= REPEAT_MAX:
        raise FieldError(path, f"'{times}' is not how often; write a whole number from 1 to {REPEAT_MAX}")
    return times


def _placeholders(text: object, path: Path, known: re.Pattern[str], remedy: str) -> None:
    for found in _BRACES.finditer(text if isinstance(text, str) else ""):
        if found[0] not in ("{{", "}}") and not (found[1] and known.fullmatch(found[1])):
            raise FieldError(path, f"'{shortened(found[0])}' is no placeholder; {remedy}")
