"""The add-on that docs/add-ons.md shows: it is installed as a package of others, and its section is in every report."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from loadstone.addon import AddOn

from .add_ons import distribution
from .frozen_runs import unpacked

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "tests" / "examples" / "add_on" / "spread.py"
HEADING = "How far trials lie apart"
Analysed = tuple[Path, str]
"""A run, and what its report printed."""


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Analysed:
    """With the add-on, which is installed."""
    folder = tmp_path_factory.mktemp("analysed")
    site = distribution(folder / "site", spread="spread:ADD_ON")
    (site / EXAMPLE.name).write_text(EXAMPLE.read_text())
    run = unpacked("pipeline", folder)  # the one that is told in the least time
    return run, reported(run, "--format", "md,html,json", "--verbose", path=(site, ROOT / "python"))


def reported(run: Path, *words: str, path: tuple[Path, ...]) -> str:
    """What `loadstone report` prints of a run, by Python that finds its packages there."""
    command = [sys.executable, "-P", "-m", "loadstone", "report", str(run), *words]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_shows_it_as_it_is() -> None:
    page = (ROOT / "docs" / "add-ons.md").read_text()
    assert f"```python\n{EXAMPLE.read_text()}```\n" in page


def test_the_page_names_all_that_one_may_bring() -> None:
    page = (ROOT / "docs" / "add-ons.md").read_text()
    assert [field.name for field in dataclasses.fields(AddOn) if f"`{field.name}`" not in page] == ["name"]


def test_its_section_is_in_every_report(analysed: Analysed) -> None:
    run, printed = analysed
    assert HEADING in printed
    assert f"\n## {HEADING}\n" in (run / "report.md").read_text()
    assert f"<h2>{HEADING}" in (run / "report.html").read_text()
    rows = json.loads((run / "analysis.json").read_text())["spread"]
    assert rows
    assert all(0 < row["least_per_s"] <= row["most_per_s"] for row in rows)


def test_without_it_what_it_found_is_kept(analysed: Analysed, tmp_path: Path) -> None:
    """A run that was analysed with it is read and told without it."""
    run = tmp_path / "run"
    shutil.copytree(analysed[0], run)
    reported(run, "--format", "md", path=(ROOT / "python",))
    assert HEADING not in (run / "report.md").read_text()
