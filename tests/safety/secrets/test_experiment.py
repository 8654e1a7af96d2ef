"""Which places of an experiment hold secrets, and what is learned from them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_experiments import check_given, learn_experiment
from loadstone.safety.secrets.in_texts import is_secret, is_secret_header, is_secret_parameter, is_surely_secret
from loadstone.safety.secrets.known import hide_known, label, learn, redact
from loadstone.safety.secrets.references import give_files, resolve

SECRET = "Hunter2verysecret"


def learned(data: Mapping[str, Any]) -> list[str]:
    """The problems of the data, whose secrets are known afterwards."""
    return [str(problem) for _, problem in learn_experiment(data)]


@pytest.mark.parametrize(
    "data",
    [
        {"servers": {"redis": {"url": f"redis://me:{SECRET}@h"}}},
        {"servers": {"redis": {"url": f"redis://{SECRET}@h"}}},
        {"subjects": {"app": {"url": f"http://h:1,http://u:{SECRET}@h:2"}}},
        {"subjects": {"app": {"environment": {"DB_PASSWORD": SECRET}}}},
        {"subjects": {"app": {"environment": {"SESSION_KEY": SECRET}}}},
        {"subjects": {"app": {"environment": {"X": f"-Dspring.datasource.password={SECRET} -Xmx1g"}}}},
        {"subjects": {"app": {"environment": {"X": f"jdbc:mysql://h/db?user=u&password={SECRET}"}}}},
        {"subjects": {"app": {"environment": {"X": f"postgres://u:{SECRET}@h/db"}}}},
        {"subjects": {"app": {"environment": {"X": f"host=h user=u password={SECRET} dbname=d"}}}},
        {"subjects": {"app": {"environment": {"X": f"host=h password='{SECRET}'"}}}},
        {"operations": [{"headers": {"authorization": f"Bearer {SECRET}"}}]},
        {"operations": [{"headers": {"Cookie": f"theme=dark; sid={SECRET}"}}]},
        {"operations": [{"path": f"/x?a=1&api_key={SECRET}"}]},
        {"operations": [{"body": f'{{"client": {{"secret": "{SECRET}"}}}}'}]},
        {"operations": [{"commands": [{"args": f"AUTH me {SECRET}"}]}]},
        {"operations": [{"commands": [{"args": ["HELLO", 3, "AUTH", "me", SECRET]}]}]},
        {"operations": [{"commands": [{"args": f"ACL SETUSER me on >{SECRET} ~*"}]}]},
        {"operations": [{"commands": [{"args": f"CONFIG SET requirepass {SECRET}"}]}]},
        {"stored": [{"count": f"CREATE USER x IDENTIFIED BY '{SECRET}'"}]},
        {
            "factors": {"mode": {"levels": ["a"], "values": {"a": {"pw": SECRET}}}},
            "subjects": {"app": {"environment": {"DB_PASSWORD": "${mode.pw}"}}},
        },
    ],
)
def test_a_secret_is_known_from_its_place(data: Mapping[str, Any]) -> None:
    assert learned(data) == []
    assert SECRET not in hide_known(f"the application said {SECRET}")


@pytest.mark.parametrize(
    "data",
    [
        {"subjects": {"app": {"environment": {"PASSWORD_HASHER": "bcrypt"}}}},
        {"subjects": {"app": {"environment": {"SORT_KEY": "customer_name"}}}},
        {"subjects": {"app": {"environment": {"MAX_TOKENS": 1234}}}},
        {"operations": [{"path": "/item?key={key}"}]},
        {"operations": [{"headers": {"Authorization": "Bearer {data.token}"}}]},
        {"servers": {"redis": {"url": "redis://h:6379/0?password_env=REDIS_PW"}}},
        {"operations": [{"commands": [{"args": "AUTH {data.password}"}]}]},
    ],
)
def test_what_only_looks_like_a_place_teaches_nothing(data: Mapping[str, Any]) -> None:
    assert learned(data) == []
    text = "bcrypt customer_name 1234 {key} Bearer {data.token} REDIS_PW"
    assert hide_known(text) == text


def test_a_password_that_breaks_its_url_is_known_whole() -> None:
    learned({"servers": {"redis": {"url": f"redis://me:a/{SECRET}?@h"}}})
    assert hide_known(f"'a/{SECRET}?' is no host") == "'***' is no host"


def test_a_level_may_be_no_secret() -> None:
    data = {
        "factors": {"login": {"levels": [SECRET, "${env:OTHER}"]}},
        "subjects": {"app": {"environment": {"DB_PASSWORD": "${login}"}}},
    }
    (problem,) = learned(data)
    assert "a level is the secret of subjects.app.environment.DB_PASSWORD" in problem
    assert SECRET not in problem


def test_the_names_of_an_experiment_are_no_secrets() -> None:
    assert learned({"servers": {"storage": {"url": "redis://:storage@h"}}}) == []
    assert redact("storage answers at redis://:storage@h") == "storage answers at redis://***@h"


def test_what_a_folder_did_not_keep_is_requested() -> None:
    for data in ({"url": "redis://***@h"}, {"environment": {"DB_PASSWORD": "***"}}):
        assert "not kept" in str(next(check_given(data))[1])
    assert list(check_given({"title": "***", "url": "redis://h"})) == []


@pytest.mark.parametrize("name", ["tls-key-file-pass", "apiKey", "AWS_SECRET_ACCESS_KEY", "spring.datasource.password"])
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)
    assert is_surely_secret(name)


def test_names_that_are_none() -> None:
    assert not any(
        map(is_secret, ("tokens", "keys", "key", "password_env", "requirepass_file", "password_set", "passes"))
    )
    assert is_secret_header("X-Api-Key")
    assert not is_secret_header("Content-Type")
    assert is_secret_parameter("sig")
    assert not is_secret_parameter("page")


def test_references_are_put_in_and_stay_in_what_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PW", "p@ss/{1}")
    assert resolve("redis://u:${env:PW}@h/0") == "redis://u:p%40ss%2F%7B1%7D@h/0"
    assert resolve("Bearer ${env:PW}") == "Bearer p@ss/{1}"
    assert resolve("Bearer ${env:PW}", template=True) == "Bearer p@ss/{{1}}"
    assert redact("redis://u:p%40ss%2F%7B1%7D@h/0 with p@ss/{1}") == "redis://u:${env:PW}@h/0 with ${env:PW}"
    file = tmp_path / "secret"
    file.write_text("two\nlines\n")
    give_files([f"A={file}"])
    assert resolve("${secret:A}") == "two\nlines"
    assert label("two\nlines") == "${secret:A}"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("A", "--secret-file: write NAME=PATH"),
        ("a b=x", "--secret-file: write NAME=PATH"),
        ("A=nowhere", "cannot be read (No such file or directory)"),
        ("A=.", "cannot be read (Is a directory)"),
        ("A=/dev/null", "is empty"),
        ("A=/dev/zero", "holds NUL"),
    ],
)
def test_a_file_that_cannot_be_a_secret_is_one_clear_line(option: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        give_files([option])
    assert said in str(refused.value)


def test_an_error_shows_no_secret() -> None:
    learn(SECRET)
    assert str(UserError.of(f"got {SECRET}, and redis://a:b@h; write redis://:PASSWORD@HOST")) == (
        "got ***, and redis://***@h; write redis://:PASSWORD@HOST"
    )
