"""The seam of add-ons: what other packages bring, and what is said of a broken one."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from loadstone.addon import AddOn
from loadstone.cli.command import COMMANDS, OWN_COMMANDS
from loadstone.cli.main import whole
from loadstone.report import csv_report
from loadstone.report.csv_report import OWN_FILES
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


LOADS = "from loadstone.addon import AddOn\n"
PART = "from loadstone.experiment.spec.experiment import AddOnPart\nclass Part(AddOnPart):\n    AFTER = 'name'\n"
MISTAKES = [
    pytest.param("import sys\nsys.exit(0)", "cannot be loaded (SystemExit: 0)", id="ends the program"),
    pytest.param(
        "class E(Exception):\n    def __str__(self):\n        raise ValueError\nraise E", "(E: )", id="no text"
    ),
    pytest.param("ADD_ON = AddOn('x', commands=None)", "commands is not a mapping of names to places", id="None"),
    pytest.param("ADD_ON = AddOn('x', commands=['y'])", "commands is not a mapping of names to places", id="a list"),
    pytest.param(
        "ADD_ON = AddOn('x', commands={'y': 5})", "commands is not a mapping of names to places", id="a number"
    ),
    pytest.param(
        "X = 5\nADD_ON = AddOn('x', commands={'y': 'theirs:X'})", "it is not what commands takes", id="no command"
    ),
    pytest.param(
        "ADD_ON = AddOn('x', commands={'run': 'theirs:X'})", "'run' (commands) is a name of loadstone already", id="run"
    ),
    pytest.param(
        "ADD_ON = AddOn('x', commands={'gate': 'theirs:X'})",
        "'gate' (commands) is a name of add-on gate already",
        id="gate",
    ),
    pytest.param(
        f"{PART}ADD_ON = AddOn('x', experiment_fields={{'workload': 'theirs:Part'}})",
        "'workload' (experiment_fields) is a name of loadstone already",
        id="a key of the core",
    ),
    pytest.param(
        f"{PART.replace('name', 'nowhere')}ADD_ON = AddOn('x', experiment_fields={{'y': 'theirs:Part'}})",
        "it is not what experiment_fields takes",
        id="behind no key",
    ),
    pytest.param(
        "X = 5\nADD_ON = AddOn('x', experiment_fields={'y': 'theirs:X'})",
        "it is not what experiment_fields takes",
        id="no part",
    ),
    pytest.param("import os\nraise OSError(os.environ['DB_PASSWORD'])", "(OSError: ${env:DB_PASSWORD})", id="a secret"),
]


EACH = """
import os
import sys
from pathlib import Path
from loadstone.cli.main import main

for site in map(Path, sys.argv[1:]):
    if not (child := os.fork()):
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(site / name, os.O_WRONLY | os.O_CREAT), number)
        sys.path.insert(0, str(site))
        sys.argv = ["loadstone", "show", "json-documents"]
        main()
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    (site / "status").write_text(str(status))
"""
"""A program that becomes the command with each of these folders: Python starts once for all."""


@pytest.fixture(scope="module")
def with_mistakes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The folders of all mistakes, and what the command said in each."""
    sites = []
    for text, _ in (one.values for one in MISTAKES):
        sites.append(distribution(tmp_path_factory.mktemp("site"), theirs="theirs:ADD_ON"))
        (sites[-1] / "theirs.py").write_text(f"{LOADS}{text}")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "DB_PASSWORD": "s3cretCanary99"}
    subprocess.run([sys.executable, "-P", "-c", EACH, *sites], env=environment, timeout=100, check=True)
    return sites


@pytest.mark.fault(
    "an add-on that ends the program while it is loaded, takes a name of loadstone's or tells a secret",
    "status 2, and a line that names it",
    area="input",
)
@pytest.mark.parametrize("number", range(len(MISTAKES)), ids=[one.id for one in MISTAKES])
def test_a_mistake_of_an_add_on_is_a_line_that_names_it(number: int, with_mistakes: list[Path]) -> None:
    site, (_, line) = with_mistakes[number], MISTAKES[number].values
    status, out, err = ((site / name).read_text() for name in ("status", "out", "err"))
    assert (status, out) == ("2", "")
    assert err.startswith("loadstone: add-on ")
    assert str(line) in err
    assert err.count("\n") == 1


def test_ctrl_c_while_an_add_on_is_loaded_is_no_traceback(tmp_path: Path) -> None:
    site = distribution(tmp_path, theirs="theirs:ADD_ON")
    (site / "theirs.py").write_text("raise KeyboardInterrupt")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (site, ROOT / "python")))}
    command = [sys.executable, "-P", "-m", "loadstone", "list"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (130, "loadstone: interrupted\n")


def test_the_commands_that_no_add_on_may_bring_are_those_of_the_core() -> None:
    own = {one.name or one.callback.__name__ for one in whole().registered_commands if one.callback is not None}
    assert set(OWN_COMMANDS) == own - set(COMMANDS.names())


def test_the_files_that_no_add_on_may_bring_are_those_of_the_core() -> None:
    assert set(OWN_FILES) == set(re.findall(r'"([a-z-]+\.csv)"', Path(csv_report.__file__).read_text()))


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
