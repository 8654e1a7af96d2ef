"""The engine's rooms, and what each may know."""

import re
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "engine" / "src"
FILES = sorted(path for path in SOURCES.rglob("*.rs") if "tests" not in path.parts and path.name != "tests.rs")
DECLARES = re.compile(r"\bCAPABILITIES: Capabilities\b|-> Capabilities\b")
WIRES = sorted(path.stem for path in (SOURCES / "wire").glob("*.rs") if DECLARES.search(path.read_text()))
"""The protocols: files that declare what they can do."""
PROTOCOL = re.compile(rf"\bis_http\b|\bWireKind::\w+|\bWire::[A-Z]|\b(?:{'|'.join(WIRES)})::")
"""What queries which protocol it is, or reaches into one."""
READ_AND_WRITE = re.compile(r"\bstd::(?:net|fs)\b|\bmio::|\bstd::io\b")


def code(path: Path) -> str:
    """What a file holds before its tests."""
    return path.read_text().split("#[cfg(test)]\nmod tests", 1)[0]


def room(path: Path) -> str:
    """The room of a file, or its own name where it stands outside of them."""
    return path.relative_to(SOURCES).parts[0].removesuffix(".rs")


def test_every_protocol_is_among_those_that_no_other_file_may_name() -> None:
    text = (SOURCES / "wire.rs").read_text()
    assert WIRES
    assert set(WIRES) == set(re.findall(r"\bWireKind::\w+ => (\w+)::\w+", text)) | set(
        re.findall(r"^ *WireKind::\w+ (?:\| WireKind::\w+ )?=> (\w+)::check", text, re.M)
    )


def test_only_the_wire_knows_which_protocol_it_is() -> None:
    others = [path for path in FILES if room(path) not in {"wire", "null_server"}]
    assert {str(path): PROTOCOL.findall(code(path)) for path in others if PROTOCOL.search(code(path))} == {}


def test_the_wire_does_no_input_or_output() -> None:
    assert [str(path) for path in FILES if room(path) == "wire" and READ_AND_WRITE.search(code(path))] == []


def test_the_plan_is_data_and_knows_no_other_room() -> None:
    """What a plan must be, by its protocol and its endpoints, stands in `reading.rs`."""
    behaviour = re.compile(r"\bcrate::(?!plan\b)\w+|\.capabilities\(\)")
    plan = [path for path in FILES if room(path) == "plan"]
    assert plan
    assert {str(path): behaviour.findall(code(path)) for path in plan if behaviour.search(code(path))} == {}
