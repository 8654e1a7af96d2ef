"""`loadstone redis --documents`: the user's values in the place of generated ones, and files that are none."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.said import Said

from loadstone.cli import redis_documents
from loadstone.experiment.plan.operations import DataFile
from loadstone.safety.errors import UserError

Redis = Callable[..., Said]


@pytest.fixture
def redis(said: Callable[..., Said]) -> Redis:
    return lambda *arguments: said("redis", *arguments)


def written(folder: Path, *lines: str) -> Path:
    file = folder / "documents.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def test_each_key_has_a_document_of_the_file(redis: Redis, tmp_path: Path) -> None:
    file = written(tmp_path, '{"a": 1}', "", '["text", 2.50]')
    found = redis("--documents", str(file), "-t", "set,get")
    plans = found.plans
    assert plans["set"].data == DataFile(path=str(file), format="documents", order="key")
    assert plans["get"].keys.count == 2
    assert found.sent() == {"set": (1, "SET {key} {data.document}"), "get": (1, "GET {key}")}
    assert [one.commands[0].expect for one in plans["get"].operations] == ["any"]
    assert plans["set"].documents.payload_bytes == round((8 + 14) / 2)
    load = next(trial.load for trial in found.run_plan.trials if trial.condition["operation"] == "get")
    assert load is not None
    assert load.operations[0].commands[0].args == ("SET", "{key}", "{data.document}")
    assert redis("--documents", str(file), "-t", "get", "-r", "50").plan().keys.count == 50


def test_replies_are_held_to_the_documents(redis: Redis, tmp_path: Path) -> None:
    file = written(tmp_path, '{"a": 1}')
    found = redis("--documents", str(file), "--verify", "--ratio", "1:3")
    assert [one.commands[0].expect for one in found.plan().operations] == ["ok", "row"]
    json = redis("--documents", str(file), "--verify", "-t", "json-set,json-get")
    assert json.sent() == {
        "json-set": (1, "JSON.SET {key} $ {data.document}"),
        "json-get": (1, "JSON.GET {key}"),
    }
    assert json.plans["json-get"].operations[0].commands[0].expect == "row"
    assert json.plans["json-set"].operations[0].writes == "nothing"


def test_keys_may_have_names_of_the_users(redis: Redis, tmp_path: Path) -> None:
    file = written(tmp_path, '{"key": "user:1", "value": {"a": 1}}', '{"key": "user:2", "value": "text"}')
    found = redis("--documents", str(file), "--command", "SETEX {key} 9 {value}", "--command", "HGET {key} f")
    assert found.sent() == {
        "setex": (1, "SETEX {key}:{data.key} 9 {data.document}"),
        "hget": (1, "HGET {key}:{data.key} f"),
    }


@pytest.mark.parametrize(
    ("lines", "arguments", "error"),
    [
        ([], [], "holds no document; write a JSON document a line"),
        (["", "  "], [], "holds no document"),
        (['{"a": 1}', "{a}"], [], "line 2: is no JSON ("),
        (['{"key": "a", "value": 1}', '{"a": 1}'], [], 'line 2: is not of the form {"key": "...", "value": ...}'),
        (['{"a": 1}'], ["-d", "100"], "-d 100: documents have their own sizes; leave it or --documents out"),
        (['{"a": 1}'], ["--data-size-range", "1-9", "-t", "set"], "--data-size-range: documents have their own sizes"),
        (['{"a": 1}'], ["--verify", "-t", "incr"], "--verify: 'incr' has no value that could be verified"),
        (
            ['{"key": "a", "value": "text"}'],
            ["-t", "json-set"],
            "--documents: 'json-set' stores JSON, and the value in line 1 of",
        ),
    ],
)
def test_a_slip_names_the_line_or_the_option(
    redis: Redis, tmp_path: Path, lines: list[str], arguments: list[str], error: str
) -> None:
    file = written(tmp_path, *lines)
    with pytest.raises(UserError) as raised:
        redis("--documents", str(file), *arguments)
    assert error in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_is_too_large_is_refused(redis: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"--documents none: cannot be read .No such file or directory.; name a file"):
        redis("--documents", "none")
    file = written(tmp_path, '{"a": 1}', '{"a": "' + "x" * 100 + '"}')
    monkeypatch.setattr(redis_documents, "DOCUMENT_MAX_BYTES", 50)
    with pytest.raises(UserError, match="line 2: a document of more than 0 MB; remove it"):
        redis("--documents", str(file))
    monkeypatch.setattr(redis_documents, "FILE_MAX_BYTES", 50)
    with pytest.raises(UserError, match="larger than 0 MB; take a sample: shuf -n 10000"):
        redis("--documents", str(file))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (f'{{"value": {"9" * 5000}}}\n'.encode(), "a number in it has too many digits"),
        ('{"a": 1}\n'.encode("utf-16"), "it is not text in UTF-8 (byte 0)"),
        (b'{"key": "\\ud800", "value": 1}\n', "\\ud800 is half a character; write the whole one"),
        (b"[" * 20_000 + b"\n", "it is nested too deeply"),
    ],
)
def test_what_no_text_can_hold_is_refused_before_it_is_sent(
    redis: Redis, tmp_path: Path, content: bytes, says: str
) -> None:
    file = tmp_path / "documents.jsonl"
    file.write_bytes(content)
    with pytest.raises(UserError) as caught:
        redis("--documents", str(file))
    assert f"{file}, line 1: " in str(caught.value)
    assert says in str(caught.value)


def test_a_mark_of_utf_8_before_the_documents_is_passed_over(redis: Redis, tmp_path: Path) -> None:
    file = tmp_path / "documents.jsonl"
    file.write_bytes('\ufeff{"a": "é \\ud83d\\ude00"}\n'.encode())
    assert redis("--documents", str(file), "-t", "get").plan().keys.count == 1
