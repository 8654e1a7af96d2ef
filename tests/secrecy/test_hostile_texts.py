"""A text that others wrote costs no more than its length to look through."""

import re

import pytest

from loadstone.secrecy import text
from loadstone.secrecy.text import hide_shown, logins_in, secrets_in


class Counted:
    """A pattern that counts how often it is tried."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern
        self.calls = 0

    def match(self, *place: object) -> re.Match[str] | None:
        self.calls += 1
        return self.pattern.match(*place)  # type: ignore[arg-type]


@pytest.mark.parametrize("end", ["", " a@", "@"])
def test_beginnings_of_urls_without_an_end_are_passed_by(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(text._LOGIN)
    monkeypatch.setattr(text, "_LOGIN", counted)
    hostile = "a://" * 250_000 + end
    assert hide_shown(hostile) == hostile or end == "@"
    assert not list(secrets_in(hostile)) or end == "@"
    assert counted.calls <= 300, "only what has an end within reach is looked at"


def test_a_login_is_found_wherever_it_stands() -> None:
    login = "redis://:Hunter2/x@y@host"
    for before in ("", "x" * 1000, "a://" * 200 + " ", "1", "a@ ", "://", "a://b ", "ä"):
        assert hide_shown(f"{before}{login}").endswith("redis://***@host"), before
    assert hide_shown("a redis://u:p@h/1,redis://:q@h b://c@d") == "a redis://***@h/1,redis://***@h b://***@d"
    assert hide_shown(f"://u:p@h _://u:p@h {'x' * 40}://u:p@h") == f"://u:p@h _://u:p@h {'x' * 40}://***@h"
    assert logins_in(f"a://{'u' * 300}@h a://{'u' * 301}@h") == [(4, 304)]
