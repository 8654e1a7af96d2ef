"""A text that others wrote costs no more than its length to look through."""

import re
from pathlib import Path

import pytest

from loadstone.safety.errors import UserError
from loadstone.safety.secrets import in_texts
from loadstone.safety.secrets.in_texts import hide_shown, logins_in, secret_of_url, secrets_in
from loadstone.safety.secrets.references import give_files


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
    counted = Counted(in_texts._LOGIN)
    monkeypatch.setattr(in_texts, "_LOGIN", counted)
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


@pytest.mark.fault("bad URL, wrong password, refused input, or an application that prints its password")
def test_a_url_where_a_path_was_expected_shows_no_password() -> None:
    stores = ("mariadb://u:Hunter2@x@h/shop", "postgresql://u:Hunter2x@h/shop", "postgres://u:Hunter2x@h")
    for url in ("redis://:Hunter2x@h", "rediss://user:Hun/ter2x@h:1/0", *stores):
        shown = hide_shown(f"{Path(url)}: no such file")
        assert re.fullmatch(r"\w+:/\*\*\*@h\S*: no such file", shown), shown
    for plain in ("https:/host:80/x", "redis:/a@b", "see http:/x", "http:/a b:c@d", "jdbc:/a:b@c"):
        assert hide_shown(plain) == plain


@pytest.mark.parametrize(
    "url", ["redis//:Hunter2x@h:1", ":Hunter2x@h:6379", "u:Hunter2x@h", "redis:/:Hunter2x@h", "rediss:/me:Hunter2x@h/0"]
)
def test_the_password_of_a_url_without_its_scheme_is_known(url: str) -> None:
    assert ("Hunter2x", True) in [tuple(found) for found in secret_of_url(url)]
    assert not list(secret_of_url("name@host:80"))


@pytest.mark.fault("bad URL, wrong password, refused input, or an application that prints its password")
def test_a_secret_in_the_place_of_its_file_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--secret-file PIN cannot be read \(No such file"):
        give_files(["PIN=Hunter2x"])
    with pytest.raises(UserError, match=f"--secret-file PIN: {tmp_path} cannot be read"):
        give_files([f"PIN={tmp_path}"])
