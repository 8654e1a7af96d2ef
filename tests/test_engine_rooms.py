"""The rooms of the engine: who may use whom."""

import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "engine" / "src"
FLOORS = (
    ("machine", "plan", "slowed"),
    ("content",),
    ("net", "wire"),
    ("record", "null_server"),
    ("load", "control", "link"),
    ("receivers", "worker", "reading"),
    ("drive",),
    ("rounds",),
)
"""From the bottom to the top: a room uses those on lower floors alone."""
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub )?mod tests \{.*", re.DOTALL)
FOR_TESTS = ("tests", "fuzzing")


def uses(text: str) -> set[str]:
    """The rooms that a source names, without those that its tests name."""
    return set(re.findall(r"\bcrate::(\w+)", TESTS.sub("", text)))


def upward(path: Path, text: str) -> list[str]:
    """Where a file uses a room that is not below its own."""
    floor_of = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
    room = path.relative_to(SOURCE).parts[0].removesuffix(".rs")
    return [
        f"{path.relative_to(SOURCE)} uses {other}"
        for other in sorted(uses(text) & {*floor_of} - {room})
        if floor_of[other] >= floor_of[room]
    ]


def test_a_room_uses_those_on_lower_floors_alone() -> None:
    sources = [path for path in SOURCE.rglob("*.rs") if not any(word in str(path) for word in FOR_TESTS)]
    rooms = {path.stem for path in SOURCE.glob("*.rs")} - {"lib", "fuzzing"}
    assert rooms == {room for rooms in FLOORS for room in rooms}
    assert [
        line
        for path in sources
        if path.parent != SOURCE or path.stem in rooms
        for line in upward(path, path.read_text())
    ] == []


def test_what_runs_upward_is_noticed() -> None:
    assert upward(SOURCE / "wire" / "resp.rs", "use crate::load::Shared;") == ["wire/resp.rs uses load"]
    assert upward(SOURCE / "net.rs", "#[cfg(test)]\nmod tests {\n use crate::load::Shared;\n}") == []
