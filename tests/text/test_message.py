"""Messages of a run's folder, which may be anybody's."""

import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from pydantic import ValidationError
from pydantic_core import from_json, to_json, to_jsonable_python

from loadstone.run_folder.trial import CheckResult
from loadstone.text.message import DEPTH_MAX, Message, message, message_identity, read_message, said

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


@pytest.mark.parametrize(
    "mistaken",
    [
        lambda text: "slow" in text,
        lambda text: "slow" not in text,
        lambda text: text == "it is slow",
        lambda text: text != "it is slow",
        lambda text: "it is slow" not in [text],
        len,
        list,
        lambda text: text + "",
        lambda text: "".join([text]),
        lambda text: re.search("slow", text),
    ],
)
def test_nobody_looks_for_words_in_what_is_no_text(mistaken: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError):
        mistaken(said("it is slow"))


def test_words_are_looked_for_in_its_english() -> None:
    with pytest.raises(TypeError, match=r"compare its English text, str\(message\)"):
        assert "slow" not in said("it is slow")
    assert "slow" in str(said("it is slow"))


def test_a_text_in_the_place_of_a_message_makes_another_message() -> None:
    assert said("{why}", why=said("slow")) != said("{why}", why="slow")
    assert said("{why}", why=said("slow")) == said("{why}", why=said("slow"))
    assert {said("slow"), said("slow"), "slow"} == {"slow", said("slow")}


def test_nothing_of_it_can_be_changed() -> None:
    text = said("{n} runs", n=3)
    with pytest.raises(FrozenInstanceError):
        text.kind = "other"  # type: ignore[misc]
    assert (str(text.with_figures(n=4)), str(text)) == ("4 runs", "3 runs")


def test_it_is_recorded_as_its_kind_and_its_figures() -> None:
    outer = message("as_written", text=[said("{n} runs", n=3)], share=None)
    recorded = b'{"kind":"as_written","figures":{"text":[{"kind":"{n} runs","figures":{"n":3}}],"share":null}}'
    assert to_json(outer) == recorded
    check = CheckResult.model_validate({**LINE, "reason": outer})
    assert recorded in check.model_dump_json().encode()
    assert read_message({**from_json(recorded), "text": "beside it"}) == outer
