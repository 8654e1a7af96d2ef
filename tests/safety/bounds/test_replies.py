"""Replies as a record and a report may have them."""

import pytest

from loadstone.safety.bounds.replies import example_of
from loadstone.safety.secrets import known


@pytest.mark.fault("a server answers errors, or an application a 500 or a wrong document")
def test_an_example_of_a_reply_is_one_line_without_secrets_and_obeys_nobody() -> None:
    known.learn("s3cr3t-of-theirs-and-long")
    for before in range(90, 130):
        text = example_of(f"{'x' * before}s3cr3t-of-theirs-and-long and {'y' * 200}")
        assert "s3cr3t" not in text, before
        assert len(text) == 120
    assert example_of("a\r\n\x1b[2J\u202eb\ttab") == "a \\x1b[2J\\u202eb tab"
    assert example_of(example_of("\x00" * 500)) == example_of("\x00" * 500), "it may be made twice"
    assert example_of("") == ""
