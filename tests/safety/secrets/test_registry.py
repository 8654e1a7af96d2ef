"""Secrets are replaced wherever they stand."""

from base64 import b64encode

import pytest

from loadstone.safety.bounds.replies import shortened
from loadstone.safety.secrets.known import hide_known, learn, name_factors, redact, redacted
from loadstone.safety.secrets.places import secrets_of
from loadstone.safety.secrets.references import learn_commands, learn_environment

SECRET = "hunter2-very-secret"


@pytest.mark.parametrize(
    "record",
    [
        {"password": SECRET},
        {"servers": {"redis": {"password": SECRET}}},
        {"settings": {"requirepass": SECRET, "masterauth": SECRET, "tls-key-file-pass": SECRET}},
        {"list": [{"Password": SECRET}]},
        {"tuple": ({"api_key": SECRET},)},
        {"url": f"redis://me:{SECRET}@host:6379/0"},
        {"url": f"rediss://:{SECRET}@host"},
        {"url": f"redis://:p@ss-{SECRET}@host:6379"},
        {"url": f"redis://host:6379?password={SECRET}&db=1"},
        {"reason": f"cannot reach redis://me:{SECRET}@host: refused"},
        {"password": [SECRET]},
        {"subjects": {"app": {"environment": {"GITHUB_TOKEN": SECRET}}}},
        {"environment.DB_PWD": SECRET},
        {"environment": {"PASSES": SECRET}},
        {"aws_credentials": SECRET},
        {"private_key": SECRET},
        {"password": {"value": SECRET}},
    ],
)
def test_no_secret_is_left(record: dict[str, object]) -> None:
    assert SECRET not in str(redacted(record))
    assert "***" in str(redacted(record))


def test_known_secrets_are_found_anywhere() -> None:
    learn(SECRET)
    assert redacted({"log": f"AUTH {SECRET} failed"}) == {"log": "AUTH *** failed"}


def test_a_number_as_a_password_is_hidden() -> None:
    assert redacted({"password": 12345}) == {"password": "***"}


@pytest.mark.parametrize(
    "record",
    [
        {"password": None},
        {"password": ""},
        {"password_set": True},
        {"condition": {"tokens": 128, "passes": 3}},
        {"environment": {"COLOUR": "red"}, "environment.STORE": "redis"},
        {"url": "redis://host:6379/0"},
        {"url": "http://host/path?mail=a@b.example"},
        {"keys": {"count": 1000, "prefix": "loadstone:"}},
        {"text": "12:30 @ noon"},
    ],
)
def test_what_is_no_secret_stays(record: dict[str, object]) -> None:
    assert redacted(record) == record


def test_short_known_secrets_do_not_eat_texts() -> None:
    learn("set")
    assert redacted({"text": "a set of documents"}) == {"text": "a set of documents"}


def test_the_original_is_not_changed() -> None:
    record = {"servers": [{"password": SECRET}]}
    redacted(record)
    assert record == {"servers": [{"password": SECRET}]}


@pytest.mark.parametrize(
    "text",
    [
        "AUTH p@ss 'w\"ord<&>{1}% failed",
        "redis://:p%40ss%20%27w%22ord%3C%26%3E%7B1%7D%25@h",
        "?x=p%40ss+%27w%22ord%3C%26%3E%7B1%7D%25",
        "<b>p@ss &#x27;w&quot;ord&lt;&amp;&gt;{1}%</b>",
        '{"x": "p@ss \'w\\"ord<&>{1}%"}',
        """x='p@ss '"'"'w"ord<&>{1}%'""",
        "Basic " + b64encode(b"user:p@ss 'w\"ord<&>{1}%").decode(),
        "Basic " + b64encode(b"u:p@ss 'w\"ord<&>{1}%").decode(),
        "Basic " + b64encode(b"us:p@ss 'w\"ord<&>{1}% and more").decode(),
    ],
)
def test_a_known_secret_is_found_in_every_form(text: str) -> None:
    learn("p@ss 'w\"ord<&>{1}%")
    assert "***" in hide_known(text)
    for piece in ("ss 'w", "ss%20", "w%22ord", "w&quot;ord"):
        assert piece not in hide_known(text)


def test_what_is_hidden_stays_as_it_is() -> None:
    learn("Hunter2secret", "${env:PW}")
    learn("Other3secret")
    record = {"a": "Hunter2secret Other3secret", "headers": {"Authorization": "Bearer Hunter2secret"}}
    once = redacted(record)
    assert once == {"a": "${env:PW} ***", "headers": {"Authorization": "Bearer ${env:PW}"}}
    assert redacted(once) == once


@pytest.mark.parametrize("secret", ["abc", "1234567", "redis", "root"])
def test_a_short_or_common_secret_is_hidden_in_its_place_alone(secret: str) -> None:
    learn(secret)
    assert redacted({"text": f"x {secret} y", "password": secret, "url": f"redis://:{secret}@h"}) == {
        "text": f"x {secret} y",
        "password": "***",
        "url": "redis://***@h",
    }


def test_a_factor_may_be_called_as_a_secret_is() -> None:
    name_factors(["password"])
    assert redacted({"condition": {"password": "long"}}) == {"condition": {"password": "long"}}


def test_two_keys_that_differ_by_a_secret_alone_stay_two() -> None:
    record = {"GET /x?token=aaaa": 1, "GET /x?token=bbbb": 2}
    assert redacted(record) == {"GET /x?token=***": 1, "GET /x?token=*** (2)": 2}


@pytest.mark.parametrize(
    "text",
    [
        "write mariadb://USER:PASSWORD@HOST:PORT/DATABASE or ?password_env=VARIABLE",
        "redis://:${env:PW}@h and Bearer ${secret:TOKEN} and password=${env:PW}",
        "http://127.0.0.1:8080/@scope/package",
        "Basic authentication; token bucket; a password is needed",
        "headers.Authorization: 'x' is not text; put it in quotes",
        "x = 5, key = 6, a == b",
        "no file was named for it; add --secret-file PW=PATH",
    ],
)
def test_a_text_without_a_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_the_folder_of_a_shell_is_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", "/srv/Run-7f3kQ9")
    monkeypatch.setenv("DB_PWD", "Zq7-f3kQ9xx")
    learn_environment()
    assert redact("/srv/Run-7f3kQ9/x.yaml Zq7-f3kQ9xx") == "/srv/Run-7f3kQ9/x.yaml ${env:DB_PWD}"


def test_a_secret_in_hexadecimal_is_hidden() -> None:
    learn("Hunter2secret")
    text = b"Hunter2secret".hex()
    assert hide_known(f"{text} {text.upper()} {text[:-2]}") == f"*** *** {text[:-2]}"


def test_a_key_of_several_lines_is_hidden_line_by_line() -> None:
    lines = [
        "-----BEGIN PRIVATE KEY-----",
        "MIIEvAIBADANBgkqhkiG9w0B",
        "short",
        "two words of the user's",
        "AQEFAASCBKYwggSiAgEAAoIB",
    ]
    learn("\n".join(lines), "${secret:KEY}")
    shown = [hide_known(f"12:00:01 > {line}") for line in lines]
    assert shown == [f"12:00:01 > {line}" for line in (lines[0], "${secret:KEY}", *lines[2:4], "${secret:KEY}")]


@pytest.mark.parametrize("before", range(20, 110))
def test_what_is_shortened_holds_no_part_of_a_secret(before: int) -> None:
    learn("Hunter2secretThatIsLong")
    text = f"{'x' * before} Hunter2secretThatIsLong"
    assert "Hunt" not in shortened(text)
    assert "Hunt" not in shortened(text.encode())


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("./s --password hunter2x {port}", "./s --password *** {port}"),
        ("sh -c 'exec ./s --password hunter2x'", "sh -c 'exec ./s --password ***'"),
        ("sh -c './s --password hunter2x; true'", "sh -c './s --password *** true'"),
        (
            """sh -c "sh -c 'A=1 ./s -n --api-key hunter2x'" x 'y'""",
            """sh -c "sh -c 'A=1 ./s -n --api-key ***'" x 'y'""",
        ),
        ("sh -c './s --token hunter\\ 2x'", "sh -c './s --token ***'"),
        ("""sh -c './s --token "hunter 2x" -v'""", """sh -c './s --token *** -v'"""),
        ("sh -c './s --reset-password; exec server'", "sh -c './s --reset-password; exec server'"),
        ("./s --token hun;ter2x", "./s --token ***"),
        ("./s '--password' hunter2x", "./s '--password' ***"),
        ("./s --password 'hunter2x", "./s --password ***"),
        ("./s --token --password hunter2x", "./s --token --password ***"),
        ("./s --token-file hunter2x --port 1", "./s --token-file hunter2x --port 1"),
        ("./s --password {port} --password-file f", "./s --password {port} --password-file f"),
    ],
)
def test_a_password_in_a_command_line_is_found_at_any_depth(command: str, shown: str) -> None:
    learn_commands((command,))
    assert redact(command) == shown


def test_a_command_of_a_manifest_shows_no_password() -> None:
    data = {"run": {"command": "sh -c './s --password hunter2x'"}, "build": {"commands": ["make --token hunter3x"]}}
    assert {found.value for found in secrets_of(data)} == {"hunter2x", "hunter3x"}


def test_words_of_odd_spaces_and_quotes_come_to_an_end() -> None:
    for command in ("a\u00a0b", "'", "\\", "\x0b", "' '", '"' * 9_999, "\\ " * 9_999, "--password " * 9_999):
        learn_commands((command,))
