"""The rules of the house, held against the imports."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from loadstone.record.facts import TrialFacts
from loadstone.record.trial import TrialRecord

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "loadstone"
STAGES = ["spec", "plan", "deploy", "drive", "observe", "record", "judge", "analyse", "report", "live"]
DATA_TYPES = {
    "spec": {
        "spec.counting",
        "spec.drivers",
        "spec.experiment",
        "spec.gate_spec",
        "spec.saturation_spec",
        "spec.levels",
        "spec.spec_part",
        "spec.subjects",
        "spec.units",
        "spec.workload",
    },
    "plan": {
        "plan.at_rate",
        "plan.group",
        "plan.labels",
        "plan.looks",
        "plan.drive_plan",
        "plan.protocols",
        "plan.outline",
        "plan.rounds",
        "plan.run_plan",
        "plan.saturation_levels",
        "plan.saturation_settings",
        "plan.endpoints",
        "plan.operations",
        "plan.required",
        "plan.subject_keys",
        "plan.units",
        "plan.driver_features",
    },
    "deploy": {
        "deploy.control",
        "deploy.ledger",
        "deploy.limit_in_force",
        "deploy.provider",
        "deploy.placement",
    },
    "drive": {"drive.outcome", "drive.slices"},
    "observe": {"observe.sample"},
    "record": {
        "record.crash",
        "record.facts",
        "record.histogram",
        "record.keys_added",
        "record.latency_logs",
        "record.look",
        "record.part_kinds",
        "record.plan_summary",
        "record.reading",
        "record.trial",
        "record.window",
    },
    "judge": {"judge.capacity.answer", "judge.gate_result", "judge.verdict"},
    "analyse": {"analyse.changes", "analyse.model", "analyse.over_runs", "analyse.overlaid"},
}
"""The modules of each stage that hold data types, and so may be imported by later stages."""
CALLS = {("analyse", "judge"), ("live", "report")}
"""Stages that call what another one computes: the judge is pure, and the progress speaks as the report does."""
ENGINE_USERS = {"own_build", "software.host.waits", "drive.native", "deploy.engine_program", "fleet.engine_process"}
IMPORTS_BY_NAME = {"registry", "report.write", "software.rooms"}
"""What imports a module by a name out of a table."""
READ_CAUSES = {
    *("bounds.conversation", "deploy.containers.container_engine", "deploy.transport", "software.redis.connection"),
    *("deploy.patience", "fleet.dask_library", "run"),
}
"""What looks for an error of the system behind that of a library. What a server did has types: `ServerRefused`."""
JOINERS = {"cli", "conduct", "run"}
"""What joins stages: no stage knows of it."""
GOALS_MAY = {"errors", "figures", "goals", "judge", "language", "message", "plan", "spec"}
GOALS_MAY_OF_RECORD = {"record.crash", "record.histogram", "record.look", "record.plan_summary", "record.reading"}
GOALS_MAY_OF_RECORD |= {"record.trial"}
"""What a goal may know: what is planned, what was measured, and how it is judged."""
ANSWERS = {
    "goals.answer",
    "goals.full_server",
    "goals.crash",
    "goals.registry",
    "goals.saturate",
    "goals.saturate_answer",
}
ANSWERS |= {"goals.saturate_types"}
"""The modules of goals that say what they answer, and the way to those: the analysis and the report may import them."""
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


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
    found = []
    for node in nodes_of(path, "import_module", "__import__"):
        called = node.func if isinstance(node, ast.Call) else None
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        if not isinstance(node, ast.Call) or name not in ("import_module", "__import__"):
            continue
        parts = node.args[0].values if isinstance(node.args[0], ast.JoinedStr) else node.args[:1]
        texts = [re.escape(str(one.value)) if isinstance(one, ast.Constant) else r"[\w.]+" for one in parts]
        found.append("".join(texts).removeprefix(re.escape("loadstone.")))
    return tuple(found)


def is_data(imported: str, types: set[str]) -> bool:
    """Whether it is one of these modules, a name in one, or a room that one stands in."""
    return any(f"{imported}.".startswith(f"{module}.") or module.startswith(f"{imported}.") for module in types)


def wrong_imports(path: Path) -> list[str]:
    """What a file of a stage imports of a later stage, of a joiner, or of an earlier stage beyond its data types."""
    stage = name_of(path).split(".")[0]
    if stage not in STAGES:
        return []
    wrong = []
    for imported in sorted(imports_of(path)):
        other = imported.split(".")[0]
        if other in STAGES and other != stage:
            later = STAGES.index(other) >= STAGES.index(stage)
            allowed = (stage, other) in CALLS or imported == other or is_data(imported, DATA_TYPES[other])
            if later or not allowed:
                wrong.append(f"{name_of(path)} imports {imported}")
        if other in JOINERS:
            wrong.append(f"{name_of(path)} imports {imported}")
    return wrong


def test_a_stage_imports_only_data_types_of_earlier_stages() -> None:
    assert [line for path in MODULES for line in wrong_imports(path)] == []


def test_a_goal_knows_nothing_of_servers_engines_and_files() -> None:
    wrong = [
        f"{name_of(path)} imports {imported}"
        for path in MODULES
        if name_of(path).split(".")[0] == "goals"
        for imported in sorted(imports_of(path))
        if imported.split(".")[0] not in GOALS_MAY and not is_data(imported, GOALS_MAY_OF_RECORD)
    ]
    assert wrong == []


def test_a_stage_knows_of_goals_what_they_answer() -> None:
    """And only those that come after the records: goals stand between the judge and the analysis."""
    users = {
        name_of(path): {name for name in imports_of(path) if name.split(".")[0] == "goals"}
        for path in MODULES
        if name_of(path).split(".")[0] in STAGES
    }
    assert {name.split(".")[0] for name, used in users.items() if used} == {"analyse", "report"}
    assert {name: used for name, used in users.items() if not all(is_data(one, ANSWERS) for one in used)} == {}


def test_the_engine_is_imported_in_five_files() -> None:
    users = {
        name_of(path)
        for path in MODULES
        if "_engine" in {name.split(".")[0] for name in imports_of(path)}
        or "from loadstone import _engine" in path.read_text()
    }
    assert users == ENGINE_USERS


def test_one_file_knows_of_dask() -> None:
    users, theirs = set(), {"dask", "distributed", "tornado"}
    for path in MODULES:
        for node in nodes_of(path, *theirs):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            if {name.split(".")[0] for name in names} & theirs:
                users.add(name_of(path))
    assert users == {"fleet.dask_library"}


def test_only_cli_exits() -> None:
    exits = ("sys.exit", "os._exit", "raise SystemExit")
    allowed = {"cli"}
    assert [
        name_of(path)
        for path in MODULES
        if name_of(path) not in allowed and any(word in path.read_text() for word in exits)
    ] == []


def by_name(path: Path) -> set[str]:
    """The modules that one may import by name."""
    patterns = named_imports_of(path)
    return {name for name in map(name_of, MODULES) if any(re.fullmatch(one, name) for one in patterns)}


def test_an_import_by_name_is_noticed() -> None:
    rooms = by_name(PACKAGE / "software" / "rooms.py")
    assert "software.redis.room" in rooms
    assert all(name.endswith(".room") for name in rooms)
    assert by_name(PACKAGE / "report" / "write.py")
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


def test_facts_are_validated_in_record_alone_and_nobody_digs_in_them() -> None:
    """A trial's facts are `TrialFacts` from the line on: no stage reads them as a mapping, or validates them again."""
    assert TrialRecord.model_fields["facts"].annotation is TrialFacts
    assert [line for path in MODULES for line in untyped_facts(path)] == []


def untyped_facts(path: Path, text: str | None = None) -> list[str]:
    """Where a file subscripts or asks `x.facts` by a key, or makes `TrialFacts` of a mapping outside of `record/`."""
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
            ) if not name_of(path).startswith("record."):
                found.append(f"{name_of(path)}:{node.lineno}: validates facts again")
    return found


def test_untyped_facts_are_noticed() -> None:
    module = PACKAGE / "analyse" / "x.py"
    wrong = ["trial.facts['plan']", "trial.facts.get('plan')", "'plan' in trial.facts", "TrialFacts.model_validate({})"]
    for text in wrong:
        assert len(untyped_facts(module, text)) == 1, text
    assert untyped_facts(module, "trial.facts.plan, TrialFacts()") == []


def test_the_cause_of_an_error_tells_nothing_of_a_server() -> None:
    assert {name_of(path) for path in MODULES if ".__cause__" in path.read_text()} == READ_CAUSES
