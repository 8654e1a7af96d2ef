"""Unlike versions are named, with both values."""

import pytest

from loadstone.addons.fleet.identity import Identity, differences, own_identity


def test_what_is_alike() -> None:
    ours = own_identity(None)
    theirs = ours.model_copy(update={"role": "agent", "host": "elsewhere", "pid": 1, "cpus": 64})
    assert differences(ours, theirs) == []
    assert Identity.model_validate(theirs.model_dump()) == theirs


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("loadstone", "0.0.9", "loadstone 0.0.9 there, "),
        ("python", "3.10.2", "Python 3.10 there, "),
        ("dask", "2024.1.0", "Dask 2024.1.0 there, "),
        ("sources", "abc", "loadstone's Python files abc there, "),
        ("engine", "abc", "the engine abc there, "),
    ],
)
def test_what_differs(field: str, value: str, said: str) -> None:
    ours = own_identity(None)
    (found,) = differences(ours, ours.model_copy(update={field: value}))
    assert str(found).startswith(said)


def test_a_patch_of_python_does_not_matter() -> None:
    ours = own_identity(None)
    minor = ".".join(ours.python.split(".")[:2])
    assert differences(ours, ours.model_copy(update={"python": f"{minor}.99"})) == []


def test_engines_of_unlike_machines_are_not_compared() -> None:
    ours = own_identity(None)
    assert differences(ours, ours.model_copy(update={"machine": "Linux aarch64", "engine": "abc"})) == []


def test_the_engine_is_there() -> None:
    assert len(own_identity(None).engine) == 12
