"""The seam of add-ons: what other packages bring, and what is said of a broken one."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from loadstone.addon import AddOn
from loadstone.safety.errors import UserError
from loadstone.slot import Slot

from .add_ons import distribution, install

ROOT = Path(__file__).parents[1]


def as_it_is(site: Path) -> Path:
    return site


def as_setuptools_has_it(site: Path) -> Path:
    (info,) = site.iterdir()
    info.rename(info.with_suffix(".egg-info"))
    return site


def as_an_archive(site: Path) -> Path:
    return Path(shutil.make_archive(str(site), "zip", site))


@pytest.mark.parametrize("installed", [as_it_is, as_setuptools_has_it, as_an_archive])
def test_one_of_another_package_brings_its_own(
    installed: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slot = Slot[object]("declared_goals")
    assert slot.get("first_slow") is None
    site = distribution(tmp_path / "site", first="tests.measure.goals.first_slow:ADD_ON")
    install(monkeypatch, installed(site))
    assert slot.get("first_slow") is not None
    assert slot.names()[-1] == "first_slow"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (
            "no_such_module:ADD_ON",
            r"add-on theirs: no_such_module:ADD_ON cannot be loaded \(ModuleNotFoundError: .*\)",
        ),
        ("tests.add_ons:install", r"add-on theirs: tests.add_ons:install cannot be loaded \(.* not an AddOn\); update"),
    ],
)
def test_a_broken_one_is_named_in_a_line(
    place: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, distribution(tmp_path, theirs=place))
    with pytest.raises(UserError, match=said):
        Slot[object]("commands").names()


def test_a_place_that_is_empty_is_named_in_a_line() -> None:
    with pytest.raises(UserError, match=r"add-on theirs: loadstone.slot:nothing cannot be loaded"):
        AddOn("theirs", commands={"x": "loadstone.slot:nothing"}).load("commands", "x")


def test_a_command_says_so_and_ends(tmp_path: Path) -> None:
    site = distribution(tmp_path, theirs="no_such_module:ADD_ON")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (site, ROOT / "python")))}
    command = [sys.executable, "-m", "loadstone", "list"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("loadstone: add-on theirs: no_such_module:ADD_ON cannot be loaded")
    assert done.stderr.count("\n") == 1
