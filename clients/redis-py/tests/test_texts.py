"""Texts, templates and verdicts agree with the examples that all drivers share."""

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from redis._parsers.base import BaseParser

from driver.failures import outcome_of
from driver.judge import Expected, Judge, Strict
from driver.keys import key_picker, others
from driver.plan import Command, PlanError
from driver.random64 import Xoshiro, mix
from driver.templates import Filling, Template
from driver.texts import Texts


def test_the_random_numbers_are_those_of_the_engine() -> None:
    assert mix(0) == 0xE220A8397B1DCDAF
    assert Xoshiro(1, 0).next() == 0xC04CE0392DAFC386


def test_texts_are_those_of_the_examples(example: Any) -> None:
    cases = 0
    for plan in example("texts")["plans"]:
        texts = Texts(plan["seed"], plan["payload_bytes"], plan["field_bytes"])
        for case in plan["cases"]:
            key, version = case["key"], case["version"]
            document = texts.document(key, version).decode()
            assert texts.field(key, version).decode() == case["field"]
            assert texts.value(key, version).decode().startswith(case["value"])
            assert texts.body(key, version).decode().endswith(case["body"])
            assert len(document) == case["document_bytes"]
            assert document == case.get("document", document)
            cases += 1
    assert cases > 5


def test_verdicts_are_those_of_the_examples(example: Any) -> None:
    shared = example("verdicts")
    texts = Texts(shared["seed"], shared["payload_bytes"], shared["field_bytes"])
    for case in shared["cases"]:
        operations = [SimpleNamespace(writes="field" if case["writes_fields"] else "document")]
        plan: Any = SimpleNamespace(verify=SimpleNamespace(replies=True, count_mismatch=True), operations=operations)
        strict = Strict[case["strict"].upper()] if case["strict"] else Strict.NO
        expected = Expected(shared["key"], shared["version"], case["known"], lambda: shared["newest"], strict)
        assert verdict(Judge(plan, texts), case, expected) == case["verdict"], case


def verdict(judge: Judge, case: dict[str, Any], expected: Expected) -> str:
    """What the driver makes of a reply as redis-py returns it, or raises it."""
    ((kind, value),) = case["reply"].items()
    if kind == "error":
        return outcome_of(BaseParser.parse_error(value)).error or "ok"
    reply: Any = value
    if kind == "nil":
        reply = None
    elif kind in ("text", "status"):
        reply = value.encode()
    elif kind == "items":
        texts = [text.encode() for text in value]
        reply = dict(zip(texts[::2], texts[1::2], strict=True)) if len(texts) % 2 == 0 else texts
    return judge.judge(case["expect"], expected, reply) or "ok"


TEXTS = Texts(5, 20, 4)


def filled(*arguments: str, **filling: Any) -> list[bytes | str]:
    template = Template(Command(["set", *arguments], "any"), "operations[0]", "app:", TEXTS, 1)
    return template.fill(Filling(**{"key": 7, "version": 3, "seq": 12, **filling}))


def test_placeholders_are_filled() -> None:
    field = TEXTS.field(7, 3)
    assert filled("{key}", "{id}/{version}", "{seq}", "{{x}}", "größe") == [
        "SET",
        b"app:000000000007",
        b"000000000007/0000000003",
        b"12",
        b"{x}",
        "größe".encode(),
    ]
    assert filled("{field_json}", "{value}", "{body}", "{document}") == [
        "SET",
        b'"%b"' % field,
        TEXTS.value(7, 3),
        TEXTS.body(7, 3),
        TEXTS.document(7, 3),
    ]


def test_random_placeholders_follow_from_the_operations_number() -> None:
    numbers = {filled("{uniform 1..3}", seq=seq)[1] for seq in range(60)}
    assert numbers == {b"1", b"2", b"3"}
    letters = filled("{random 10 lowercase}")[1]
    assert isinstance(letters, bytes)
    assert len(letters) == 10
    assert letters.islower()
    assert letters == filled("{random 10 lowercase}")[1] != filled("{random 10 lowercase}", seq=13)[1]


def test_a_changed_document_keeps_all_but_its_field() -> None:
    old, new = TEXTS.document(7, 2), filled("{changed}", previous=TEXTS.document(7, 2))[1]
    assert new == old.replace(b'"field":"%b"' % TEXTS.field(7, 2), b'"field":"%b"' % TEXTS.field(7, 3))
    assert filled("{changed}", previous=b"")[1] == TEXTS.document(7, 3)


@pytest.mark.parametrize("argument", ["{colour}", "{", "a}", "{uniform 5..4}", "{random 0 lowercase}"])
def test_what_is_no_placeholder_is_refused_by_its_place(argument: str) -> None:
    with pytest.raises(PlanError, match=r"operations\[0\]\.args\[1\]"):
        filled(argument)


def test_other_keys_of_an_operation_are_named() -> None:
    template = Template(Command(("MGET", "{key3}/{key}/{key2}"), "any"), "operations[0]", "k:", Texts(5, 20, 4), 1)
    assert template.others == 2
    assert template.fill(Filling(7, 1, 0, others=(3, 9)))[1] == b"k:000000000009/k:000000000007/k:000000000003"


@pytest.mark.parametrize("distribution", ["uniform", "zipf", "gaussian", "sequential"])
def test_other_keys_differ_from_the_first_and_from_each_other(distribution: str) -> None:
    keys: Any = SimpleNamespace(count=12, distribution=distribution, zipf_exponent=0.99, gaussian_sd=0.15)
    draw = key_picker(keys, Random(3))
    for key in range(12):
        assert {key, *others(keys, draw, key, 11)} == set(range(12))
