"""Secrets are replaced wherever they stand."""

import pytest

from loadstone.secrecy.registry import hidden, learn

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
    assert SECRET not in str(hidden(record))
    assert "***" in str(hidden(record))


def test_known_secrets_are_found_anywhere() -> None:
    learn(SECRET)
    assert hidden({"log": f"AUTH {SECRET} failed"}) == {"log": "AUTH *** failed"}


def test_a_number_as_a_password_is_hidden() -> None:
    assert hidden({"password": 12345}) == {"password": "***"}


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
    assert hidden(record) == record


def test_short_known_secrets_do_not_eat_words() -> None:
    learn("set")
    assert hidden({"text": "a set of documents"}) == {"text": "a set of documents"}


def test_the_original_is_not_changed() -> None:
    record = {"servers": [{"password": SECRET}]}
    hidden(record)
    assert record == {"servers": [{"password": SECRET}]}
