"""The engine's rooms: their size, and what each may know."""

import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "engine" / "src"
ROOMS = sorted({path.parent for path in SOURCES.rglob("*.rs")})
FILES = sorted(path for path in SOURCES.rglob("*.rs") if "tests" not in path.parts and path.name != "tests.rs")
DECLARES = re.compile(r"\bCAPABILITIES: Capabilities\b|-> Capabilities\b")
WIRES = sorted(path.stem for path in (SOURCES / "wire").glob("*.rs") if DECLARES.search(path.read_text()))
"""The protocols: files that declare what they can do."""
PROTOCOL = re.compile(rf"\bis_http\b|\bWireKind::\w+|\bWire::[A-Z]|\b(?:{'|'.join(WIRES)})::")
"""What queries which protocol it is, or reaches into one."""
READ_AND_WRITE = re.compile(r"\bstd::(?:net|fs)\b|\bmio::|\bstd::io\b")
MOST_FILES = 25
MOST_LINES = 500


def code(path: Path) -> str:
    """What a file holds before its tests."""
    return path.read_text().split("#[cfg(test)]\nmod tests", 1)[0]


def room(path: Path) -> str:
    """The room of a file, or its own name where it stands outside of them."""
    return path.relative_to(SOURCES).parts[0].removesuffix(".rs")


@pytest.mark.parametrize("folder", ROOMS, ids=lambda path: str(path.relative_to(SOURCES)))
def test_a_room_has_few_files(folder: Path) -> None:
    assert len(list(folder.glob("*.rs"))) <= MOST_FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_a_file_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES


def test_every_protocol_is_among_those_that_no_other_file_may_name() -> None:
    text = (SOURCES / "wire.rs").read_text()
    assert WIRES
    assert set(WIRES) == set(re.findall(r"\bWireKind::\w+ => (\w+)::\w+", text)) | set(
        re.findall(r"^ *WireKind::\w+ (?:\| WireKind::\w+ )?=> (\w+)::check", text, re.M)
    )


@pytest.mark.parametrize("path", [path for path in FILES if room(path) not in {"wire", "null_server"}], ids=str)
def test_only_the_wire_knows_which_protocol_it_is(path: Path) -> None:
    assert not PROTOCOL.findall(code(path))


@pytest.mark.parametrize("path", [path for path in FILES if room(path) == "wire"], ids=str)
def test_the_wire_does_no_input_or_output(path: Path) -> None:
    assert not READ_AND_WRITE.findall(code(path))
