"""The rules of the house, held against the imports."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from loadstone.run_folder.facts import TrialFacts
from loadstone.run_folder.trial import TrialRecord

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "loadstone"
FLOORS = (
    ("slot",),
    ("text",),
    ("safety",),
    ("experiment", "machine"),
    ("drivers", "monitors"),
    ("run_folder",),
    ("servers", "judge"),
    ("programs", "report"),
    ("measure",),
    ("run",),
    ("cli",),
    ("addon",),
    ("addons",),
)
"""The rooms from the bottom to the top: a room imports what stands below it, and not what stands beside it."""
WINGS = {
    frozenset(("servers", "report")),
    frozenset(("programs", "judge")),
    frozenset(("measure", "report")),
}
"""What does not import each other though it stands on different floors: what measures, and what tells."""
BETWEEN_ADD_ONS = {("pages", "history")}
"""Which add-on may import which other one."""
ENGINE_USERS = {"machine.installation", "monitors.host.waits", "drivers.native", "drivers.engine_program"}
ENGINE_USERS |= {"addons.fleet.engine_process", "judge.statistics.distributions"}
DASK_USERS = {"addons.fleet.dask_library"}
IMPORTS_BY_NAME = {"servers.registry", "report.write", "servers.software_rooms"}
"""What imports a module by a name out of a table."""
SEAM = {"slot", "addon"}
"""What imports add-ons, which it finds, and no floor forbids it: the only way from the core to them."""
READ_CAUSES = {
    *("safety.bounds.deadlines", "servers.containers.container_engine", "servers.transport"),
    *("servers.redis.connection", "servers.patience", "addons.fleet.dask_library", "run.run"),
}
"""What looks for an error of the system behind that of a library. What a server did has types: `ServerRefused`."""
GOALS = {"measure.goals", "addons.capacity.full_server_goal", "addons.saturation.goal"}
GOALS |= {"addons.saturation.closed_steps", "addons.saturation.open_steps"}
GOALS_MAY = GOALS | {"slot", "safety.errors", "text", "experiment", "judge", "drivers.histogram"}
GOALS_MAY |= {"run_folder.crash", "run_folder.look", "run_folder.plan_summary", "run_folder.reading"}
GOALS_MAY |= {"run_folder.trial", "measure.listener", "addons.saturation", "addons.capacity"}
"""What a goal may know: what is planned, what was measured, how it is judged, and its add-on."""
OF_STATISTICS = {"experiment.plan.look_schedule", "experiment.spec.experiment", "judge.verdict"}
OF_STATISTICS |= {"drivers.histogram", "run_folder.trial", "text.message", "_engine"}
"""What the statistics know beside figures: histograms, the types of a design, of a trial's checks and of a verdict, and
the engine's quantiles of distributions."""
OF_ADD_ONS = re.compile(r"\b(?:loadstone|tests|from )\.addons(?:\.\w| import)|import addons")
"""Where a test names an add-on of this package, or a test of one."""
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


NAMES = frozenset(map(name_of, MODULES))
FILES = frozenset(name_of(path) for path in MODULES if path.name != "__init__.py")
"""The modules that hold something: a room itself is its docstring."""


def nodes_of(path: Path, *words: str) -> Iterator[ast.AST]:
    """What a file consists of; nothing where none of these words is in it, which takes no time."""
    text = path.read_text()
    return ast.walk(ast.parse(text)) if any(word in text for word in words) else iter(())


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Modules of the package that a file imports, without the leading `loadstone.`."""
    found: set[str] = set()
    for node in nodes_of(path, "loadstone"):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(name.removeprefix("loadstone.") for name in found if name.startswith("loadstone."))


@cache
def named_imports_of(path: Path) -> tuple[str, ...]:
    """Patterns of the modules of the package that a file imports by name, as `import_module(f"loadstone.{x}.room")`."""
    found: list[str] = []
    if name_of(path) in SEAM:
        return ()
    for node in nodes_of(path, "import_module", "__import__"):
        called = node.func if isinstance(node, ast.Call) else None
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        if not isinstance(node, ast.Call) or name not in ("import_module", "__import__"):
            continue
        parts = node.args[0].values if isinstance(node.args[0], ast.JoinedStr) else node.args[:1]
        texts = [re.escape(str(one.value)) if isinstance(one, ast.Constant) else r"[\w.]+" for one in parts]
        found.append("".join(texts).removeprefix(re.escape("loadstone.")))
    return tuple(found)


def by_name(path: Path) -> set[str]:
    """The modules that one may import by name."""
    patterns = named_imports_of(path)
    return {name for name in NAMES if any(re.fullmatch(one, name) for one in patterns)}


def floor_of(room: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


def is_against(importer: str, imported: str) -> bool:
    """Whether the import runs against the floors, between the wings, or from one add-on to another."""
    room, other = importer.split(".")[0], imported.split(".")[0]
    if room == other:
        between = tuple(name.split(".")[1] if "." in name else "" for name in (importer, imported))
        return room == "addons" and between[0] != between[1] and between not in BETWEEN_ADD_ONS
    return floor_of(other) >= floor_of(room) or frozenset((room, other)) in WINGS


def test_every_room_has_its_floor() -> None:
    rooms = {name.split(".")[0] for name in NAMES} - {"", "__init__", "__main__"}
    assert {room for floor in FLOORS for room in floor} == rooms | {"addons"}, "the core may stand alone"


def test_a_room_imports_lower_rooms_alone() -> None:
    """Imports for the type checker alone count as any other."""
    assert [
        f"{name} -> {imported}"
        for path in MODULES
        if (name := name_of(path)) not in ("", "__init__", "__main__")
        for imported in (imports_of(path) | by_name(path)) & FILES
        if is_against(name, imported)
    ] == [], "imports against the floors: see ARCHITECTURE.md"


def test_a_test_of_the_core_needs_no_add_on() -> None:
    """What tests one, or all together, stands in `tests/addons/`."""
    tests = ROOT / "tests"
    assert [
        str(path.relative_to(tests))
        for path in sorted(tests.rglob("*.py"))
        if path != Path(__file__)
        and path.relative_to(tests).parts[0] != "addons"
        and OF_ADD_ONS.search(path.read_text())
    ] == []


@pytest.mark.parametrize(
    ("line", "needs"),
    [
        ("from loadstone.addons.gate.spec import Gate", True),
        ("from loadstone.addons import NAMES", True),
        ("from tests.addons.gate.trials import of", True),
        ("from .addons.gate.trials import of", True),
        ('patch.setattr("loadstone.addons.pages.server.serve", stop)', True),
        ("[loadstone.addons]", False),
        ("from loadstone.addon import AddOn", False),
    ],
)
def test_a_test_that_needs_one_is_noticed(line: str, needs: bool) -> None:
    assert bool(OF_ADD_ONS.search(line)) == needs


@pytest.mark.parametrize(
    ("importer", "imported", "against"),
    [
        ("run.run", "measure.loop", False),
        ("measure.loop", "run.run", True),
        ("servers.pool", "judge.cost", True),
        ("report.write", "servers.pool", True),
        ("measure.loop", "report.write", True),
        ("cli.main", "addons.gate.command", True),
        ("addons.gate.command", "cli.options", False),
        ("addons.gate.command", "addons.gate.rule", False),
        ("addons.gate.command", "addons.history.index", True),
        ("addons.pages.history", "addons.history.index", False),
    ],
)
def test_an_import_against_the_floors_is_noticed(importer: str, imported: str, against: bool) -> None:
    assert is_against(importer, imported) == against


def is_part_of(name: str, places: set[str]) -> bool:
    """Whether it is one of these modules, stands in one of these rooms, or is a room that one stands in."""
    return any(f"{name}.".startswith(f"{place}.") or place.startswith(f"{name}.") for place in places)


def test_a_goal_knows_nothing_of_servers_engines_and_files() -> None:
    wrong = [
        f"{name_of(path)} imports {imported}"
        for path in MODULES
        if any(f"{name_of(path)}.".startswith(f"{goal}.") for goal in GOALS)
        for imported in sorted(imports_of(path))
        if not is_part_of(imported, GOALS_MAY)
    ]
    assert wrong == []


def test_statistics_take_figures_and_give_figures() -> None:
    """They know of no file, no clock and no record, but for `OF_STATISTICS`."""
    found = {
        next((known for known in OF_STATISTICS if f"{imported}.".startswith(f"{known}.")), imported)
        for path in MODULES
        if name_of(path).startswith("judge.statistics.")
        for imported in imports_of(path)
        if not is_part_of(imported, {"judge.statistics"})
        and not any(known.startswith(f"{imported}.") for known in OF_STATISTICS)
    }
    assert found == OF_STATISTICS


def test_the_engine_is_imported_in_six_files() -> None:
    users = {
        name_of(path)
        for path in MODULES
        if "_engine" in {name.split(".")[0] for name in imports_of(path)}
        or "from loadstone import _engine" in path.read_text()
    }
    assert users == ENGINE_USERS & NAMES


def test_one_file_knows_of_dask() -> None:
    users, theirs = set(), {"dask", "distributed", "tornado"}
    for path in MODULES:
        for node in nodes_of(path, *theirs):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            if {name.split(".")[0] for name in names} & theirs:
                users.add(name_of(path))
    assert users == DASK_USERS & NAMES


def test_only_the_command_line_exits() -> None:
    exits = ("sys.exit", "os._exit", "raise SystemExit")
    assert [
        name_of(path)
        for path in MODULES
        if name_of(path) != "cli.main" and any(word in path.read_text() for word in exits)
    ] == []


def test_an_import_by_name_is_noticed() -> None:
    rooms = by_name(PACKAGE / "servers" / "software_rooms.py")
    assert "servers.redis.room" in rooms
    assert all(name.endswith(".room") for name in rooms)
    assert by_name(PACKAGE / "report" / "write.py")
    assert by_name(PACKAGE / "servers" / "registry.py") > {"servers.redis.monitor", "monitors.host.monitor"}
    assert {name_of(path) for path in MODULES if named_imports_of(path)} == IMPORTS_BY_NAME


def test_imports_make_no_circle() -> None:
    """Neither by an import within a function, nor by name."""
    graph = {name_of(path): imports_of(path) | by_name(path) for path in MODULES}
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


def test_facts_are_validated_in_the_run_folder_alone_and_nobody_digs_in_them() -> None:
    """A trial's facts are `TrialFacts` from the line on: no room reads them as a mapping, or validates them again."""
    assert TrialRecord.model_fields["facts"].annotation is TrialFacts
    assert [line for path in MODULES for line in untyped_facts(path)] == []


def untyped_facts(path: Path, text: str | None = None) -> list[str]:
    """Where a file subscripts or asks `x.facts` by a key, or makes `TrialFacts` of a mapping outside of its room."""
    found = []
    for node in nodes_of(path, "facts", "TrialFacts") if text is None else ast.walk(ast.parse(text)):
        match node:
            case (
                ast.Subscript(value=ast.Attribute(attr="facts"))
                | ast.Call(func=ast.Attribute(value=ast.Attribute(attr="facts"), attr="get" | "items" | "keys"))
                | ast.Compare(ops=[ast.In()], comparators=[ast.Attribute(attr="facts")])
            ):
                found.append(f"{name_of(path)}:{node.lineno}: reads facts by a key")
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Name(id="TrialFacts"), attr="read" | "model_validate" | "model_validate_json"
                )
            ) if not name_of(path).startswith("run_folder."):
                found.append(f"{name_of(path)}:{node.lineno}: validates facts again")
    return found


def test_untyped_facts_are_noticed() -> None:
    module = PACKAGE / "judge" / "x.py"
    wrong = ["trial.facts['plan']", "trial.facts.get('plan')", "'plan' in trial.facts", "TrialFacts.model_validate({})"]
    for text in wrong:
        assert len(untyped_facts(module, text)) == 1, text
    assert untyped_facts(module, "trial.facts.plan, TrialFacts()") == []


def test_the_cause_of_an_error_tells_nothing_of_a_server() -> None:
    assert {name_of(path) for path in MODULES if ".__cause__" in path.read_text()} == READ_CAUSES & NAMES


def classes_by_name() -> dict[str, list[str]]:
    """Return the modules that define a class, by its name; of every class at the top of a module of the package."""
    found: dict[str, list[str]] = {}
    for path in MODULES:
        for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE):
            found.setdefault(name, []).append(str(path.relative_to(PACKAGE)))
    return found


def test_a_class_name_means_one_thing() -> None:
    assert {name: modules for name, modules in classes_by_name().items() if len(modules) > 1} == {}
