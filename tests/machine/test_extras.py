"""What the base package lacks is named with the command that installs it, and its size."""

import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from loadstone.machine import extras
from loadstone.safety.errors import UserError

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment with the base package alone, and pip on PATH."""
    monkeypatch.setattr(extras, "find_spec", lambda name: find_spec("json") if name == "pip" else None)
    monkeypatch.setattr(extras.shutil, "which", lambda _: str(Path(sys.executable).parent / "pip"))


def test_the_extras_are_those_of_the_project_and_all_has_them() -> None:
    assert {*PROJECT["optional-dependencies"]} - {"all", "build", "dev"} == {*extras.MODULES} == {*extras.MEGABYTES}
    assert PROJECT["optional-dependencies"]["all"] == [f"loadstone[{','.join(sorted(extras.MODULES))}]"]


def test_what_draws_or_serves_is_not_in_the_base_package() -> None:
    needed = " ".join(PROJECT["dependencies"])
    assert "numpy" in needed
    left_out = ("altair", "vl-convert", "redis-stack", "starlette", "distributed", "docker")
    assert not [name for name in left_out if name in needed]


@pytest.mark.usefixtures("base")
def test_a_missing_extra_is_named_with_its_command_and_size() -> None:
    with pytest.raises(UserError) as refused:
        extras.require("charts", "--svg")
    size = extras.MEGABYTES["charts"]
    assert str(refused.value) == (
        f"--svg: loadstone[charts] is not installed; type pip install 'loadstone[charts]' ({size} MB)"
    )


def test_the_command_is_for_the_environment_that_lacks_it(base: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert base is None
    assert extras.command_for("json", "charts") == ("pip", "install", "loadstone[json,charts]")
    monkeypatch.setattr(extras.shutil, "which", lambda _: "/usr/bin/pip")
    assert extras.command_for("json") == (sys.executable, "-P", "-m", "pip", "install", "loadstone[json]")
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    assert extras.command_for("json") == ("uv", "pip", "install", "--python", sys.executable, "loadstone[json]")


def test_here_all_are_installed() -> None:
    assert [extra for extra in extras.MODULES if extras.lacks(extra)] == []
