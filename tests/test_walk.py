"""A stranger's walk: what ARCHITECTURE.md says one reads and touches to add a part, held against the tree."""

import html
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "loadstone"
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
PARTS = ("a study", "a server", "a monitor", "a metric", "a check", "a goal", "a wire protocol", "a report")
ROW = re.compile(r"^\| (an? [a-z ]+) \| (`.+`) \| (`.+`) \|$", re.M)
QUOTED = re.compile("`([^`]+)`")
WALK = {part: (QUOTED.findall(read), QUOTED.findall(touch)) for part, read, touch in ROW.findall(TEXT)}
NEW = re.compile(r"(?<=/)x(?=[./])")
MUST_TOUCH = {
    "a study": {"docs/studies.md", "README.md", "README.ko.md"},
    "a server": {
        "experiment/software.py",
        "monitors/catalogue.py",
        "servers/x/",
        "docs/containers.md",
        "tests/contract/test_metrics.py",
    },
    "a monitor": {"servers/x/monitor.py", "monitors/metrics/x.py", "tests/contract/test_metrics.py"},
    "a metric": {"monitors/metrics/x.py", "docs/metrics.csv"},
    "a check": {"judge/checks/checks.py", "text/english/checks.py", "tests/examples/frozen/"},
    "a goal": {"addons/x/", "addons/__init__.py"},
    "a wire protocol": {"engine/src/wire.rs", "engine/src/fuzzing.rs", "experiment/plan/protocols.py"},
    "a report": {"report/write.py", "README.md", "docs/run-folder.md", "tests/examples/frozen/"},
}
"""Where each part is entered: a list without these leaves its reader with a part that nobody uses."""
LINES = 120
FOLDERS = ("python", "engine", "docs", "scripts", "experiments", "subjects", "tests", "bench", "fuzz")
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
MADE_BY_A_RUN = {"report.md"}


def found(name: str) -> list[Path]:
    """What a path of the walk names; of one that is new, its siblings."""
    pattern = NEW.sub("*", name).rstrip("/")
    is_folder = name.endswith("/")
    return [path for root in (PACKAGE, ROOT) for path in root.glob(pattern) if path.is_dir() == is_folder]


def test_every_part_has_a_walk() -> None:
    assert tuple(WALK) == PARTS


@pytest.mark.whole
@pytest.mark.parametrize("part", PARTS)
def test_what_is_read_is_there(part: str) -> None:
    read, _ = WALK[part]
    assert read
    assert [name for name in read if NEW.search(name) or not found(name)] == []


@pytest.mark.whole
@pytest.mark.parametrize("part", PARTS)
def test_what_is_touched_is_there_or_has_siblings(part: str) -> None:
    _, touched = WALK[part]
    assert [name for name in touched if len(found(name)) < (2 if NEW.search(name) else 1)] == []
    assert [name for name in touched if NEW.search(name)], "the part itself has no place"


@pytest.mark.parametrize("part", PARTS)
def test_a_walk_leads_to_where_the_part_is_entered(part: str) -> None:
    _, touched = WALK[part]
    assert set(touched) >= MUST_TOUCH[part]


def test_a_check_takes_at_most_four_files_of_code_and_documentation() -> None:
    _, touched = WALK["a check"]
    assert len([name for name in touched if not name.startswith("tests/")]) <= 4


def test_what_is_observed_has_its_metrics_and_its_monitors() -> None:
    rooms = [*found("servers/x/monitor.py"), *found("monitors/x/monitor.py")]
    watched = [*rooms, *(path for path in found("monitors/x.py") if "WATCHING" in path.read_text())]
    observed = {path.parent.name if path in rooms else path.stem for path in watched}
    assert observed == {path.stem for path in found("monitors/metrics/x.py")} - {"__init__"}
    assert all("\nWATCHING = (" in path.read_text() for path in watched)


@pytest.mark.whole
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_other_files_of_a_page_are_there(page: Path) -> None:
    named = set(re.findall(r"`([\w/-]+\.(?:py|rs|md)|experiments/[\w-]+\.yaml)`", page.read_text())) - MADE_BY_A_RUN
    there = {f"/{path.relative_to(ROOT)}" for name in FOLDERS for path in (ROOT / name).rglob("*.*")}
    there |= {f"/{path.name}" for path in ROOT.glob("*.*")}
    missing = [name for name in named if not NEW.search(name) and not any(path.endswith(f"/{name}") for path in there)]
    assert sorted(missing) == []


def test_the_page_is_short() -> None:
    assert len(TEXT.splitlines()) <= LINES


def slugs(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", html.unescape(one).strip().lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_to_a_heading_lead_to_one(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", page.read_text())
    wrong = [f"{path}#{anchor}" for path, anchor in links if anchor not in slugs(page.parent / path if path else page)]
    assert wrong == []
