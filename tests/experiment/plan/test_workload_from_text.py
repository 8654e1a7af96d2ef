import pytest

from loadstone.experiment.plan.substitute import FieldError
from loadstone.experiment.plan.workload_from_text import with_arguments


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("JSON.SET {key} $ {document}", ["JSON.SET", "{key}", "$", "{document}"]),
        ("  GET\n {key} ", ["GET", "{key}"]),
        ("SADD {key}:s {uniform 1..10}", ["SADD", "{key}:s", "{uniform 1..10}"]),
        ("SET {key} x{random 10 lowercase}y", ["SET", "{key}", "x{random 10 lowercase}y"]),
        ("ECHO {{literal}}", ["ECHO", "{{literal}}"]),
        (["SET", "{key}", "two words"], ["SET", "{key}", "two words"]),
        (["EXPIRE", "{key}", 10, True], ["EXPIRE", "{key}", "10", "true"]),
    ],
)
def test_arguments_are_texts(written: object, arguments: list[str]) -> None:
    assert with_arguments({"args": written, "expect": "ok"}, ()) == {"args": arguments, "expect": "ok"}


def test_what_is_missing_is_left_to_the_plan() -> None:
    assert with_arguments({"expect": "ok"}, ()) == {"expect": "ok"}


@pytest.mark.parametrize(
    "wrong",
    ["{documnt}", "{}", "{key", "key}", "{uniform 1-10}", "{random lowercase}", "{random 3 uppercase}", "{ key }"],
)
def test_an_unknown_placeholder_is_named(wrong: str) -> None:
    with pytest.raises(FieldError, match="is no placeholder; placeholders are:") as caught:
        with_arguments({"args": ["SET", "{key}", wrong]}, ("commands", 0))
    assert caught.value.path == ("commands", 0, "args")
