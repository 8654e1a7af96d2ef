"""The add-ons of this package: each folder is one, and all that they bring is there."""

import dataclasses
from pathlib import Path

import pytest

from loadstone.addon import AddOn, installed
from loadstone.addons import NAMES
from loadstone.experiment.spec import built_in
from loadstone.slot import Slot
from tests import readable

ADD_ONS = Path(__file__).parents[2] / "python" / "loadstone" / "addons"
KINDS = [field.name for field in dataclasses.fields(AddOn) if field.name != "name"]
BROUGHT = [(kind, name) for kind in KINDS for add_on in installed() for name in add_on.names(kind)]


def test_every_folder_of_addons_is_one() -> None:
    folders = {path.parent.name for path in ADD_ONS.glob("*/__init__.py")}
    assert sorted(NAMES) == sorted(folders)
    assert [add_on.name for add_on in installed()] == list(NAMES)


def test_no_two_bring_something_of_the_same_name() -> None:
    assert len(BROUGHT) == len(set(BROUGHT)) > len(NAMES)


@pytest.mark.parametrize(("kind", "name"), BROUGHT, ids=lambda word: word)
def test_what_one_brings_is_there(kind: str, name: str) -> None:
    assert Slot[object](kind).get(name) is not None


def test_all_built_in_experiments_can_be_read() -> None:
    assert readable.names() == built_in.names()
