"""From the workload's text, with levels and units in them, to the plan's own: in place, before they are validated."""

from collections.abc import Mapping
from typing import Any

from loadstone.plan.drive_plan import Documents
from loadstone.plan.mode import Mode
from loadstone.plan.protocols import for_requests
from loadstone.plan.units import read_units
from loadstone.plan.workload.commands import with_arguments, with_keys
from loadstone.plan.workload.substitute import FieldError, Path

_LENGTHS = ("ramp_up_s", "warm_up_s", "measure_s", "measure_max_s")
_POOL = ("connections", "min_idle", "max_idle")


def finish_operations(operations: list[dict[str, Any]]) -> None:
    """Arguments apart, placeholders known. Raises FieldError below `operations`."""
    for index, operation in enumerate(operations):
        at: Path = ("operations", index)
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


def _check_units(text: str, path: Path) -> None:
    try:
        read_units(text)
    except ValueError as error:
        raise FieldError(path, str(error)) from None


def finish_workload(fields: dict[str, Any], mode: Mode, prefix: str, replicas: int) -> None:
    """Documents, keys, users and pool of a plan, at the mode's scale and for so many replicas. Raises FieldError."""
    scaled = fields.pop("scaled")
    if not isinstance(scaled, bool):
        raise FieldError(("scaled",), f"'{scaled}' is not true or false; write true or false")
    _documents(fields["documents"])
    _keys(fields["keys"], prefix)
    if scaled:
        _scale_users(fields["model"], fields["pool"], mode)
    if mode.as_published and mode.scale != 1:
        _scale_lengths(fields["model"], fields["phases"], mode.scale)
    if fields["protocol"] in for_requests():
        _multiply(fields["pool"], replicas)
    _pool(fields["pool"])


def _scale_users(model: dict[str, Any], pool: dict[str, Any], mode: Mode) -> None:
    """Users, the steps in which they start, and the connections they share."""
    _scale(model, ("users", "operations_more"), mode)
    if _is_count(model.get("operations_more")) and _is_count(model.get("users")):
        model["operations_more"] = min(model["operations_more"], model["users"] - 1)
    if isinstance(model.get("ramp_up"), dict):
        _scale(model["ramp_up"], ("initial_users", "step_users"), mode)
    _scale(pool, _POOL, mode)


def _scale(fields: dict[str, Any], names: tuple[str, ...], mode: Mode) -> None:
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
    path: Path = ("documents", "field_share")
    if "field_bytes" in documents:
        if given:
            raise FieldError(path, "the field's size is given twice; remove field_share or field_bytes")
        return
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise FieldError(path, f"'{share}' is no share between 0 and 100 %; write for example 10 %")
    payload = documents.get("payload_bytes", Documents().payload_bytes)
    if isinstance(payload, int):
        documents["field_bytes"] = max(1, round(payload * share))


def _keys(keys: dict[str, Any], prefix: str) -> None:
    for name in ("prefix", "loaded"):
        if name in keys:
            problem = "is set by loadstone, which touches only keys of its own; leave it out"
            raise FieldError(("keys", name), problem)
    keys["prefix"] = prefix
