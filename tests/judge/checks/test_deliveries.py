"""The check of what receivers got."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.text.sentences import render_message

ResultOf = Callable[..., Any]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"missing": 3}, "Of 1,000 deliveries 3 did not come; 0 came twice, and 0 messages were others'."),
        (
            {"repeated": 1, "unreadable": 2},
            "Of 1,000 deliveries 0 did not come; 1 came twice, and 2 messages were others'.",
        ),
        (
            {"disconnected": 1, "why_disconnected": "10.0.0.7:6379: the server closed the connection"},
            "1 of 2 receivers lost their connections (10.0.0.7:6379: the server closed the connection); 0 deliveries "
            "did not come.",
        ),
    ],
)
def test_every_receiver_gets_every_message_once(
    result_of: ResultOf, injectors: ModuleType, changed: dict[str, object], said: str
) -> None:
    found = result_of("deliveries", injectors.receives(1000, **changed))
    assert (found.verdict, render_message(found.reason)) == ("invalid" if said else "valid", said)


def test_more_than_was_sent_is_of_others(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("deliveries", injectors.receives(1007, missing=0))
    said = "Of 1,000 deliveries 0 did not come; 0 came twice, and 7 messages were others'."
    assert (found.verdict, render_message(found.reason)) == ("invalid", said)


def test_a_load_without_receivers_is_not_queried(result_of: ResultOf) -> None:
    assert result_of("deliveries") is None
