"""Messages of a run's folder, which may be anybody's."""

from typing import Any

import pytest
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from loadstone.run_folder.trial import CheckResult
from loadstone.text.message import DEPTH_MAX, Message, message, message_identity, read_message

LINE: dict[str, Any] = {"name": "x", "verdict": "valid", "measured": None, "limit": None, "unit": ""}


def nested(depth: int, *, in_lists: bool) -> dict[str, Any]:
    found: Any = {"kind": "as_written", "figures": {"text": "here"}}
    for _ in range(depth):
        found = [found] if in_lists else {"kind": "as_written", "figures": {"text": found}}
    return {"kind": "as_written", "figures": {"text": found}}


@pytest.mark.parametrize("in_lists", [True, False])
@pytest.mark.parametrize("depth", [DEPTH_MAX, 100, 480])
def test_one_that_is_nested_without_end_is_no_line(depth: int, in_lists: bool) -> None:
    with pytest.raises(ValidationError, match=f"nested more than {DEPTH_MAX} deep"):
        CheckResult.model_validate({**LINE, "reason": nested(depth, in_lists=in_lists)})


def test_messages_within_messages_come_back() -> None:
    inner = message("as_written", text="here")
    outer = message("as_written", text=[inner, inner])
    read = CheckResult.model_validate({**LINE, "reason": to_jsonable_python(outer)}).reason
    assert read == outer
    assert isinstance(read, Message)


@pytest.mark.parametrize("figures", [None, [], "text", {1: 2}])
def test_figures_of_another_shape_are_refused(figures: object) -> None:
    with pytest.raises(ValidationError):
        read_message({"kind": "as_written", "figures": figures})


def suspect(check: str, trials: int) -> Message:
    return message("check.failed_in", check=check, verdict="suspect", trials=trials, of=9, reason=evicted(trials))


def evicted(keys: int) -> Message:
    return message("check.evicted_keys.evicted", keys=keys)


def invalid(trial: str, checks: list[str]) -> Message:
    return message("trial_invalid", trial=trial, checks=checks)


def test_messages_are_alike_but_for_numbers_trials_and_blocks() -> None:
    assert message_identity(suspect("swap", 3)) == message_identity(suspect("swap", 4))
    assert message_identity(suspect("swap", 3)) != message_identity(suspect("errors", 3))
    assert message_identity(evicted(3)) != message_identity(message("check.swap.moved", keys=3))
    assert (
        message_identity(invalid("a", ["swap"]))
        == message_identity(invalid("b", ["swap"]))
        != message_identity(invalid("a", ["errors"]))
    )
    assert message_identity(message("check.errors.failed", percent=1.0, kinds={"timeout": 3})) == message_identity(
        message("check.errors.failed", percent=2.0, kinds={"timeout": 4})
    )
