"""Without add-ons runs are analysed and reported as before: what add-ons say is not there, and nothing else changes."""

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.core_reports import markdown, nothing_drawn
from tests.frozen_runs import unpacked

from loadstone import slot
from loadstone.addons import NAMES
from loadstone.judge.analysis.analyse import analyse
from loadstone.judge.analysis.analysis import Analysis, UnknownAnswer
from loadstone.report.json_report import with_texts
from loadstone.report.write import REPORTERS
from loadstone.safety.errors import UserError
from loadstone.text import sentences

ROOT = Path(__file__).parents[2]
SECTIONS = {
    "jedis-vs-lettuce": [
        "Peak throughput of one server",
        "Where the capacity goes",
        "Published conclusions, tested",
        "What went wrong then, and what shows here",
    ],
    "json-documents": ["Peak throughput of one server", "Published conclusions, tested"],
    "aof-modes-crash": ["Published conclusions, tested", "What went wrong then, and what shows here"],
    "pipeline": ["Peak throughput of one server"],
}
"""Run -> the sections of its report that add-ons bring."""
REFUSED = {"saturate-closed": "load", "gate-twin": "gate"}
"""Run -> the key of its experiment that an add-on reads: without that it would be judged by other rules."""
KEYS = {"answers", "lessons", "saturations", "full_servers", "capacities", "gate"}
OPENING = {"answer", "headline", "costs"}
"""Keys of the analysis to which add-ons add something."""
CSV = {"full-servers.csv", "saturation.csv", "ramp.csv"}
WITHOUT = """
import json
import sys
from pathlib import Path

HIDDEN = f"loadstone.{sys.argv[2]}."

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if f"{name}.".startswith(HIDDEN) else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)


sys.meta_path[:] = map(Without, sys.meta_path)
from tests.core_reports import reports

print(json.dumps(reports(Path(sys.argv[1]))))
"""
ALL_OTHERS = """
import dataclasses

from loadstone.addon import AddOn, installed
from loadstone.slot import Slot

for field in dataclasses.fields(AddOn):
    if field.name != "name":
        assert all(made is not None for _, made in Slot(field.name).items())
print(json.dumps([add_on.name for add_on in installed()]))
from loadstone.cli.main import main

sys.argv[1:] = ["--help"]
main()
"""
EACH = """
import os
import sys
from pathlib import Path

import loadstone.cli.main
import loadstone.judge.analysis.analyse
import loadstone.report.write

assert not [name for name in sys.modules if name.startswith("loadstone.addons.")]
program, folder, *names = sys.argv[1:]
for name in names:
    if not (child := os.fork()):
        for number in (1, 2):
            os.dup2(os.open(Path(folder) / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
        sys.argv = ["loadstone", "", f"addons.{name}"]
        exec(program, {})
        os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    (Path(folder) / f"{name}.status").write_text(str(status))
"""


def parts_of(text: str) -> dict[str, str]:
    """What stands above the first section, and below each heading."""
    opening, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    return {"": opening, **dict(section.split("\n", 1) for section in sections)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name in SECTIONS:
        unpacked(name, folder)
    return folder


def hide(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(slot, "_add_ons", tuple)
    patch.setattr(sentences, "_of_add_ons", cache(sentences._of_add_ons.__wrapped__))


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """No add-on is installed."""
    hide(monkeypatch)


@pytest.fixture(scope="module")
def whole(runs: Path) -> dict[str, Analysis]:
    return {name: analyse(runs / name) for name in SECTIONS}


@pytest.fixture(scope="module")
def lacking(runs: Path) -> dict[str, Analysis]:
    """Analysed where no add-on is installed."""
    with pytest.MonkeyPatch.context() as patch:
        hide(patch)
        return {name: analyse(runs / name) for name in SECTIONS}


@pytest.fixture(scope="module")
def reported(whole: dict[str, Analysis]) -> dict[str, str]:
    return {name: markdown(analysis) for name, analysis in whole.items()}


@pytest.mark.usefixtures("hidden")
@pytest.mark.parametrize("name", SECTIONS)
def test_a_report_lacks_their_sections_alone(name: str, lacking: dict[str, Analysis], reported: dict[str, str]) -> None:
    before, now = parts_of(reported[name]), parts_of(markdown(lacking[name]))
    assert [heading for heading in before if heading not in now] == SECTIONS[name]
    opens = ("", "The answer in figures")
    assert {heading: text for heading, text in now.items() if heading not in opens} == {
        heading: text for heading, text in before.items() if heading in now and heading not in opens
    }
    changed = set(now[""].splitlines()) ^ set(before[""].splitlines())
    assert all(line.startswith("**") or ". Took " in line or " of " in line for line in changed), "the opening alone"
    assert not re.search(r"\[\w+: ", now[""]), "no sentence is missing"


@pytest.mark.usefixtures("hidden")
@pytest.mark.parametrize("name", REFUSED)
def test_a_run_that_was_judged_by_their_rules_is_refused(name: str, tmp_path: Path) -> None:
    key = REFUSED[name]
    with pytest.raises(UserError, match=rf"experiment.yaml: cannot be read: {key}: is read by an add-on that is not"):
        analyse(unpacked(name, tmp_path))


@pytest.mark.usefixtures("hidden")
@pytest.mark.parametrize("name", SECTIONS)
def test_an_analysis_lacks_their_answers_alone(
    name: str, lacking: dict[str, Analysis], whole: dict[str, Analysis]
) -> None:
    now: dict[str, Any] = with_texts(lacking[name])
    before: dict[str, Any] = with_texts(whole[name])
    assert {*before} - {*now} <= KEYS
    assert {*now} <= {*before}
    assert {key for key in now if now[key] != before[key]} <= OPENING


@pytest.mark.usefixtures("hidden")
@pytest.mark.parametrize("name", SECTIONS)
def test_other_formats_are_made(name: str, lacking: dict[str, Analysis], whole: dict[str, Analysis]) -> None:
    now = lacking[name]
    with nothing_drawn():
        page = REPORTERS["html"](now)["report.html"].decode()
    for heading in SECTIONS[name]:
        assert f"<h2>{heading}" not in page
    assert not {*REPORTERS["csv"](now)} & CSV
    assert REPORTERS["csv"](now).items() <= REPORTERS["csv"](whole[name]).items()


@pytest.mark.parametrize("name", SECTIONS)
def test_answers_that_nobody_knows_are_kept(
    name: str, whole: dict[str, Analysis], request: pytest.FixtureRequest
) -> None:
    written = whole[name].model_dump_json()
    request.getfixturevalue("hidden")
    read = Analysis.model_validate_json(written)
    assert {type(answer) for answer in read.parts.values()} == {UnknownAnswer}
    assert json.loads(read.model_dump_json()) == json.loads(written)
    assert parts_of(markdown(read)).keys().isdisjoint(SECTIONS[name])


def test_where_they_cannot_be_imported_reports_are_the_same(
    runs: Path, lacking: dict[str, Analysis], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    few = ("jedis-vs-lettuce", "pipeline")
    for name in few:
        (tmp_path / name).symlink_to(runs / name)
    command = [sys.executable, "-c", WITHOUT, str(tmp_path), "addons"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "python")))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    request.getfixturevalue("hidden")
    assert json.loads(done.stdout) == {name: markdown(lacking[name]) for name in few}


@pytest.fixture(scope="module")
def left_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what was printed without each: the core is loaded once, and then forked."""
    folder, program = tmp_path_factory.mktemp("left-out"), WITHOUT.split("from tests.core_reports")[0] + ALL_OTHERS
    command = [sys.executable, "-c", EACH, program, str(folder), *NAMES]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=170, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_each_can_be_left_out_alone(name: str, left_out: Path) -> None:
    """All that the others bring is there, and the commands, too."""
    status, printed = (left_out / f"{name}.status").read_text(), (left_out / name).read_text()
    assert status == "0", printed
    installed, help_ = printed.split("\n", 1)
    assert json.loads(installed) == [one for one in NAMES if one != name]
    assert "redis " in help_
