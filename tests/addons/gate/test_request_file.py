"""A file of requests, for both versions of a service."""

from collections.abc import Callable

import pytest
from tests.cli.test_request_file import Written, require_operations, written  # noqa: F401 (a fixture)
from tests.said import Said


def test_they_are_the_operations_of_both(
    said: Callable[..., Said],
    written: Written,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["gate", "--base-url", "http://127.0.0.1:1/api", "--head-url", "http://127.0.0.1:2/api"]
    require_operations(words, said, written, monkeypatch)
