"""What is special to a server software stands in its room, and outside of it is reached by the registry alone."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from loadstone.experiment.software import SOFTWARE, in_containers, is_users, software_by_url, software_of
from loadstone.servers import registry
from loadstone.servers.software_room import Room

PACKAGE = Path(__file__).parents[1] / "python" / "loadstone"
MODULES = sorted(PACKAGE.rglob("*.py"))
SHARED = {"sql"}
ROOMS = {path.parent.name for path in PACKAGE.glob("servers/*/room.py")} | SHARED
"""Rooms of what several kinds of software have in common: these may import them."""
LOADING = {
    "servers.recordings": {"read_recording"},
    "programs.subjects.placeholders": {"room"},
}
"""The modules of stages that load a room by the registry, and what by."""
HAVE_THE_ROOMS = {"servers.registry", "servers.containers.container"}
"""The registry, and what it imports itself."""
STAGES = {"experiment", "drivers", "monitors", "run_folder", "servers", "programs", "judge", "report"}
NAMES = tuple(SOFTWARE)[1:]
"""The names that no other file may know. Not of the first one: the whole laboratory is for Redis, and speaks of it."""
MENTIONS = {
    "text.korean_particles": "how names are read aloud in Korean",
    "experiment.plan.protocols": "the wire protocol that has the name of its software",
    "text.english.glossary": "the terms of the reports",
    "safety.secrets.known": "words that are too common to be hidden as a secret",
    "safety.secrets.in_texts": "the schemes of URLs that hold a password",
    "run.parts_behind": "where a server listens whose URL names no port",
    "experiment.spec.experiment": "the key of a study's column",
}
"""Who names a software all the same, and for what."""


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def room_of(path: Path) -> str | None:
    """The room that a file stands in."""
    parts = path.relative_to(PACKAGE).parts
    return parts[1] if parts[0] == "servers" and parts[1] in ROOMS else None


@cache
def names_imported(path: Path) -> set[str]:
    """What a file imports; of one that does not speak of servers nothing, since to parse the package takes seconds."""
    found: set[str] = set()
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if "servers" in text else ():
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def rooms_imported(path: Path) -> set[str]:
    parts = [name.split(".") for name in names_imported(path)]
    return {at[2] for at in parts if at[:2] == ["loadstone", "servers"] and len(at) > 2} & ROOMS


def names_a_software(path: Path) -> bool:
    """Whether a name or a text of the code has one of `NAMES`."""
    text = path.read_text()
    if not any(name in text.lower() for name in NAMES):
        return False
    return any(name in one.lower() for one in texts_of(ast.parse(text)) for name in NAMES)


def texts_of(tree: ast.AST) -> Iterator[str]:
    """The names and texts of the code; not its comments, and not what stands as a docstring."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            found = getattr(node, field, None)
            if isinstance(found, str):
                yield found


OF_ALL = {"experiment.software", "monitors.catalogue"}
OUTSIDE = [path for path in MODULES if room_of(path) is None and name_of(path) not in OF_ALL]
OUTSIDE = [path for path in OUTSIDE if not name_of(path).startswith("monitors.metrics.")]
"""All but the rooms, the tables of all software, and what declares their metrics."""


def test_a_room_is_imported_by_itself_and_the_registry_alone() -> None:
    within = [(path, {room_of(path)} | SHARED) for path in MODULES if room_of(path) is not None]
    allowed = within + [(path, set()) for path in OUTSIDE]
    assert [name_of(path) for path, rooms in allowed if not rooms_imported(path) <= rooms] == []


def test_a_software_is_named_in_its_room_alone() -> None:
    naming = {name_of(path) for path in OUTSIDE if names_a_software(path)}
    assert naming - set(MENTIONS) == set()
    assert set(MENTIONS) - naming == set(), "names no software any more: take it off the list"


def test_stages_load_no_room() -> None:
    """What loads a room stands in what joins stages, with few exceptions."""
    beyond = {}
    for path in MODULES:
        if (
            name_of(path).split(".")[0] not in STAGES
            or "from loadstone.servers import registry\n" not in path.read_text()
        ):
            continue
        used = {
            node.attr
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "registry"
        }
        beyond[name_of(path)] = used - LOADING.get(name_of(path), set())
    assert {name: used for name, used in beyond.items() if used} == {}


def test_the_rooms_are_had_by_way_of_the_registry() -> None:
    """Or a stage that loads a room would be none of `LOADING`."""
    table = "loadstone.servers.software_rooms."
    having = [path for path in MODULES if any(f"{name}.".startswith(table) for name in names_imported(path))]
    assert {name_of(path) for path in having} == HAVE_THE_ROOMS


def test_a_declaration_loads_no_room() -> None:
    """The registry is queried by stages that must not wait for drivers, clients and monitors to load."""
    script = "import json, sys, loadstone.servers.registry; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert not {"psutil", "pymysql", "pg8000", "redis", "docker"} & loaded
    assert not {name for name in loaded if name.endswith((".room", ".control", ".monitor", ".url"))}
    of_servers = {name for name in loaded if name.startswith("loadstone.servers")}
    assert of_servers == {"loadstone.servers", "loadstone.servers.registry", "loadstone.servers.software_rooms"}


@pytest.mark.parametrize("name", list(SOFTWARE))
def test_a_room_offers_what_it_declares(name: str) -> None:
    software, room = SOFTWARE[name], registry.room(name)
    assert isinstance(room, Room)
    assert set(room.kinds) == set(software.kinds)
    assert software.url_kind in software.kinds
    assert (room.in_container is not None) == software.in_container
    for kind, settings in room.kinds.items():
        assert settings.model_fields["kind"].default == kind
        assert software_of({"kind": kind}) is software
        assert is_users({"kind": kind}) == (kind == software.url_kind)
    for scheme in software.schemes:
        assert software_by_url(f"{scheme}://host") is software
    assert software_by_url(software.url_form) is software


def test_what_several_kinds_of_software_share_is_reported_by_the_settings() -> None:
    for name in in_containers():
        assert software_of({"kind": "container", "software": name}).name == name
    assert software_of({"kind": "container"}).name == "redis"
    assert software_of({}).name == "redis"
    assert not is_users({"kind": "container"})


def test_no_two_kinds_of_software_share_a_kind_or_a_scheme() -> None:
    software = list(SOFTWARE.values())
    for found in ([k for one in software for k in one.kinds], [s for one in software for s in one.schemes]):
        assert len(found) == len(set(found))
