"""From the workload's text, with levels and units in it, to the plan's own: in place, before it is validated."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from loadstone.experiment.plan.drive_plan import Documents
from loadstone.experiment.plan.operation_units import read_units
from loadstone.experiment.plan.operations import RecordedLoad, as_arguments, as_text
from loadstone.experiment.plan.protocols import for_requests
from loadstone.experiment.plan.substitute import FieldError, FieldPath, PlanMode
from loadstone.experiment.spec.levels import level_text
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.secrets.in_texts import REFERENCE as SECRET_REFERENCE
from loadstone.text.message import AnyText, said, text_of

ReadRecording = Callable[[Path], RecordedLoad]
"""What a recording holds. Raises UserError where it cannot be read."""
_LENGTHS = ("ramp_up_s", "warm_up_s", "measure_s", "measure_max_s")
_POOL = ("connections", "min_idle", "max_idle")
REPEAT_MAX = 100_000
_ARGUMENT = re.compile(r"(?:\{[^{}]*\}|\S)+")
_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_IN_BRACES = re.compile(r"(\$\{(?:env|secret):[^{}]*\}|\{[^{}]*\})")
_BOTH = "key|document|id|version|field|body|field_json|value|seq"
_DRAWN = "uniform -?[0-9]{1,19}\\.\\.-?[0-9]{1,19}|random [0-9]{1,19} lowercase"
_KEYS, _NUMBERS = "key[1-9][0-9]{0,4}|keys:[0-9]{1,5}", "number[1-9][0-9]{0,4}|numbers:[0-9]{1,5}"
_IN_COMMANDS = re.compile(f"{_BOTH}|{_KEYS}|changed|message|data\\..+|{_DRAWN}")
_IN_REQUESTS = re.compile(f"{_BOTH}|number|{_KEYS}|{_NUMBERS}|data\\..+|{_DRAWN}")
_IN_REPLIES = re.compile(f"{_BOTH}|number|data\\..+")
_LITERAL = said("write {{{{ and }}}} for literal braces")
_COMMAND_REMEDY = said(
    "placeholders are: {placeholders}; write {{{{ for a literal brace",
    placeholders="{key}, {key2}, {keys:10}, {document}, {id}, {version}, {field}, {body}, {field_json}, {changed}, "
    "{value}, {seq}, {message}, {data.FIELD}, {uniform 1..100}, {random 10 lowercase}",
)
_REQUEST_REMEDY = said(
    "placeholders are: {placeholders}; {literal}",
    placeholders="{number}, {number2}, {numbers:10}, {data.FIELD}, {key}, {key2}, {keys:10}, {id}, {document}, "
    "{version}, {field}, {body}, {field_json}, {value}, {seq}, {uniform 1..100}, {random 10 lowercase}",
    literal=_LITERAL,
)
_REPLY_REMEDY = said(
    "what is expected must be the same wherever an operation uses it, as {{number}} or {{seq}}; {literal}",
    literal=_LITERAL,
)


def finish_operations(operations: list[dict[str, Any]]) -> None:
    """Arguments apart, placeholders known. Raises FieldError below `operations`."""
    for index, operation in enumerate(operations):
        at: FieldPath = ("operations", index)
        operation["commands"] = [
            with_arguments(command, (*at, "commands", number)) for number, command in enumerate(operation["commands"])
        ]
        operation["requests"] = [
            with_keys(request, (*at, "requests", number)) for number, request in enumerate(operation["requests"])
        ]
        operation["units"] = str(operation["units"])
        if operation["units"] != "auto":
            _check_units(operation["units"], (*at, "units"))
        if operation["read_back"] is not None:
            operation["read_back"] = with_arguments(operation["read_back"], (*at, "read_back"))


def _check_units(text: str, path: FieldPath) -> None:
    try:
        read_units(text)
    except ValueError as error:
        raise FieldError(path, text_of(error)) from None


def finish_workload(fields: dict[str, Any], mode: PlanMode, prefix: str, replicas: int) -> None:
    """Documents, keys, users and pool of a plan, at the mode's scale and for so many replicas. Raises FieldError."""
    scaled = fields.pop("scaled")
    if not isinstance(scaled, bool):
        raise FieldError(("scaled",), said("'{scaled}' is not true or false; write true or false", scaled=scaled))
    _documents(fields["documents"])
    _keys(fields["keys"], prefix)
    if scaled:
        _scale_users(fields["model"], fields["pool"], mode)
    if mode.as_published and mode.scale != 1:
        _scale_lengths(fields["model"], fields["phases"], mode.scale)
    if fields["protocol"] in for_requests():
        _multiply(fields["pool"], replicas)
    _pool(fields["pool"])


def _scale_users(model: dict[str, Any], pool: dict[str, Any], mode: PlanMode) -> None:
    """Users, the steps in which they start, and the connections they share."""
    _scale(model, ("users", "operations_more"), mode)
    if _is_count(model.get("operations_more")) and _is_count(model.get("users")):
        model["operations_more"] = min(model["operations_more"], model["users"] - 1)
    if isinstance(model.get("ramp_up"), dict):
        _scale(model["ramp_up"], ("initial_users", "step_users"), mode)
    _scale(pool, _POOL, mode)


def _scale(fields: dict[str, Any], names: tuple[str, ...], mode: PlanMode) -> None:
    for name in names:
        if _is_count(fields.get(name)):
            fields[name] = mode.scaled(fields[name])


def _scale_lengths(model: Mapping[str, Any], phases: dict[str, Any], scale: float) -> None:
    for name in _LENGTHS:
        if isinstance(phases.get(name), int | float):
            phases[name] *= scale
    ramp_up = model.get("ramp_up")
    if isinstance(ramp_up, dict) and isinstance(ramp_up.get("step_every_s"), int | float):
        ramp_up["step_every_s"] *= scale


def _multiply(pool: dict[str, Any], replicas: int) -> None:
    """A pool of each replica's own size, together: then they take turns and have exactly the same load."""
    for name in _POOL:
        if _is_count(pool.get(name)):
            pool[name] *= replicas


def _pool(pool: dict[str, Any]) -> None:
    """A pool cannot keep more connections idle than it has."""
    for bound in ("min_idle", "max_idle"):
        if isinstance(pool.get(bound), int) and isinstance(pool.get("connections"), int):
            pool[bound] = min(pool[bound], pool["connections"])


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _documents(documents: dict[str, Any]) -> None:
    """`field_share` becomes `field_bytes`: that share of the payload (a tenth if none is given), at least 1 byte."""
    given = "field_share" in documents
    share = documents.pop("field_share", 0.1)
    path: FieldPath = ("documents", "field_share")
    if "field_bytes" in documents:
        if given:
            raise FieldError(path, said("the field's size is given twice; remove field_share or field_bytes"))
        return
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise FieldError(path, said("'{share}' is no share between 0 and 100 %; write for example 10 %", share=share))
    payload = documents.get("payload_bytes", Documents().payload_bytes)
    if isinstance(payload, int):
        documents["field_bytes"] = max(1, round(payload * share))


def _keys(keys: dict[str, Any], prefix: str) -> None:
    for name in ("prefix", "loaded"):
        if name in keys:
            problem = said("is set by loadstone, which touches only keys of its own; leave it out")
            raise FieldError(("keys", name), problem)
    keys["prefix"] = prefix


def with_arguments(command: Mapping[str, Any], path: FieldPath) -> dict[str, Any]:
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


def with_keys(request: Mapping[str, Any], path: FieldPath) -> dict[str, Any]:
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
        raise FieldError(path, text_of(error)) from None
    return {**request, **named}


def _each(text: Any, path: FieldPath) -> list[Any]:
    try:
        return as_arguments(text) if isinstance(text, str) else [text]
    except ValueError as error:
        raise FieldError(path, text_of(error)) from None


def _check_request(request: Mapping[str, Any], path: FieldPath) -> None:
    for name in ("path", "body"):
        _placeholders(request.get(name), (*path, name), _IN_REQUESTS, _REQUEST_REMEDY)
    headers, expect = request.get("headers"), request.get("expect")
    for name, text in headers.items() if isinstance(headers, Mapping) else ():
        _placeholders(text, (*path, "headers", name), _IN_REQUESTS, _REQUEST_REMEDY)
    expected = expect if isinstance(expect, Mapping) else {}
    for name in ("equals", "contains"):
        _placeholders(expected.get(name), (*path, "expect", name), _IN_REPLIES, _REPLY_REMEDY)


def literal_braces(text: str, *, doubled: bool = True) -> str:
    """The text of a request with braces doubled that belong to no placeholder and no secret, as those of JSON.

    `doubled`: whether a text with `{{`, which JSON has not, doubles its braces itself, and so stays.
    """
    if doubled and "{{" in text:
        return text
    parts = _IN_BRACES.split(text)
    return "".join(part if _means_something(part) else part.replace("{", "{{").replace("}", "}}") for part in parts)


def _means_something(text: str) -> bool:
    if text[:1] == "{" and text[-1:] == "}":
        return _IN_REQUESTS.fullmatch(text[1:-1]) is not None
    return SECRET_REFERENCE.fullmatch(text) is not None


def _repeat(times: Any, path: FieldPath) -> int:
    if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= REPEAT_MAX:
        raise FieldError(
            path,
            said(
                "'{times}' is not how often; write a whole number from 1 to {repeat_max}",
                times=times,
                repeat_max=REPEAT_MAX,
            ),
        )
    return times


def _placeholders(text: object, path: FieldPath, known: re.Pattern[str], remedy: AnyText) -> None:
    for placeholder in _BRACES.finditer(text if isinstance(text, str) else ""):
        if placeholder[0] not in ("{{", "}}") and not (placeholder[1] and known.fullmatch(placeholder[1])):
            raise FieldError(
                path,
                said("'{shortened}' is no placeholder; {remedy}", shortened=shortened(placeholder[0]), remedy=remedy),
            )


def reads_no_recording(path: Path) -> RecordedLoad:
    """The reader of recordings where none can stand in a workload."""
    raise ValueError(f"{path}: nothing was given that reads recordings")


def finish_recording(data: dict[str, Any], folder: Path, read: ReadRecording) -> None:
    """The recording of a workload as a plan has it, read by `read`; a path counts from `folder`.

    Raises:
        FieldError: below `workload`.
        UserError: the recording cannot be read.
    """
    written = data.get("recording")
    if written is None or not isinstance(written.get("path"), str):
        return
    recorded = read((folder / written["path"]).resolve())
    operations = [[command.get("args") for command in one["commands"]] for one in data["operations"]]
    if operations != [[[name]] for name in recorded.commands]:
        names = ", ".join(recorded.commands)
        problem = said(
            "its commands are {names}; write an operation of each name in this order, without arguments", names=names
        )
        raise FieldError(("recording", "path"), problem)
    written |= {"path": str(recorded.prepared), "stored_bytes": recorded.stored_bytes}
