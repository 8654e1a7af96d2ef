"""The rules of the house, held against the imports."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "loadstone"
STAGES = ["spec", "plan", "deploy", "drive", "observe", "record", "judge", "analyse", "report", "live"]
DATA_TYPES = {
    "spec": {
        "spec.counting",
        "spec.drivers",
        "spec.effects_spec",
        "spec.experiment",
        "spec.latency_objective",
        "spec.levels",
        "spec.ramp_text",
        "spec.saturation_spec",
        "spec.spec_part",
        "spec.units",
    },
    "plan": {
        "plan.at_rate",
        "plan.contrast",
        "plan.labels",
        "plan.looks",
        "plan.drive_plan",
        "plan.protocols",
        "plan.outline",
        "plan.rounds",
        "plan.run_plan",
        "plan.saturation.ramp_plan",
        "plan.saturation.saturation_settings",
        "plan.saturation.saturation_step",
        "plan.slots",
        "plan.required",
        "plan.workload.driver_features",
    },
    "deploy": {
        "deploy.control",
        "deploy.ledger",
        "deploy.limit_in_force",
        "deploy.provider",
        "deploy.placement",
    },
    "drive": {"drive.outcome"},
    "observe": {"observe.sample"},
    "record": {
        "record.crash",
        "record.facts",
        "record.histogram",
        "record.keys_added",
        "record.look",
        "record.parts.part_kinds",
        "record.plan_summary",
        "record.reading",
        "record.trial",
        "record.window",
    },
    "judge": {"judge.verdict"},
    "analyse": {
        "analyse.factorial.effects_answer",
        "analyse.limiting.limiting_part",
        "analyse.model",
        "analyse.saturation.saturation_answer",
    },
}
"""The modules of each stage that hold data types, and so may be imported by later stages."""
CALLS = {("analyse", "judge"), ("live", "report")}
"""Stages that call what another one computes: the judge is pure, and the progress speaks as the report does."""
ENGINE_USERS = {"drive.native", "deploy.null_program", "deploy.link.link_program"}
JOINERS = {"cli", "conduct", "run"}
"""What joins stages: no stage knows of it."""
MODULES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = sorted({path.parent for path in MODULES})
MOST_FILES = 25
MOST_LINES = 500
SAME_AT_TWO_STAGES = {
    "at_rate.py": "rows at a fixed rate: how their plan changes, and carried out",
    "answers.py": "the author's conclusions: with their verdicts, and as a report shows them",
    "compare.py": "`loadstone compare`: from the folders, and as it is printed",
    "crashes.py": "crashes: planned, carried out, and as a report shows them",
    "fixed_rates.py": "rows at a fixed rate: planned, analysed, and as a report shows them",
    "ledger.py": "the ledger of a run: the seam for what writes it, and its file",
    "lessons.py": "the lessons of a run: found, and as a report shows them",
    "look_up.py": "the keys that are looked up after a crash: planned, and looked up",
    "machine_speed.py": "the speed of the machine: measured, and judged over a run",
    "pairs.py": "the pairs of a comparison: planned, and judged",
    "rounds.py": "rounds of slices: planned, conducted, and driven",
}
"""File names that may occur twice outside of `software/`, and what it is that both are about."""


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def imports_of(path: Path) -> set[str]:
    """Modules of the package that a file imports, without the leading `loadstone.`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name.removeprefix("loadstone.") for name in found if name.startswith("loadstone.")}


def is_data(imported: str, types: set[str]) -> bool:
    """Whether it is one of these modules, a name in one, or a room that one stands in."""
    return any(f"{imported}.".startswith(f"{module}.") or module.startswith(f"{imported}.") for module in types)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_stage_imports_only_data_types_of_earlier_stages(path: Path) -> None:
    stage = name_of(path).split(".")[0]
    if stage not in STAGES:
        return
    for imported in imports_of(path):
        other = imported.split(".")[0]
        if other in STAGES and other != stage:
            assert STAGES.index(other) < STAGES.index(stage), f"{name_of(path)} imports the later {imported}"
            called = (stage, other) in CALLS
            assert called or imported == other or is_data(imported, DATA_TYPES[other]), (
                f"{name_of(path)} imports {imported}"
            )
        assert other not in JOINERS, f"{name_of(path)} imports {imported}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_the_engine_is_imported_in_three_files(path: Path) -> None:
    if (
        "_engine" in {name.split(".")[0] for name in imports_of(path)}
        or "from loadstone import _engine" in path.read_text()
    ):
        assert name_of(path) in ENGINE_USERS


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_cli_exits(path: Path) -> None:
    if name_of(path) == "cli":
        return
    source = path.read_text()
    programs = {"deploy.guard", "deploy.null_program"}  # run as processes of their own
    if name_of(path) not in programs:
        assert "sys.exit" not in source
        assert "os._exit" not in source
        assert "raise SystemExit" not in source


def test_imports_make_no_circle() -> None:
    graph = {name_of(path): imports_of(path) for path in MODULES}
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " -> ".join((*way, name))
        if name in done or name not in graph:
            return
        for imported in graph[name]:
            if imported != name:
                visit(imported, (*way, name))
        done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_files_are_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(PACKAGE.parent)))
def test_a_room_has_few_files(folder: Path) -> None:
    assert len(list(folder.glob("*.py"))) <= MOST_FILES


def test_a_file_name_occurs_once() -> None:
    """Rooms of software have files of one name, since each offers the same; sentences are named for their subject."""
    rooms = {PACKAGE / "software", PACKAGE / "report" / "text" / "english"}
    names = [path.name for path in MODULES if not rooms & set(path.parents) and path.name != "__init__.py"]
    assert {name for name in names if names.count(name) > 1} == set(SAME_AT_TWO_STAGES)
