"""Every input of the fuzzer's corpus again, without the fuzzer: only typed errors, and a bounded amount of memory."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz"
ENGINES = {"resp", "http", "chunks", "memcached", "null_commands", "null_requests", "null_lines"}
"""Targets of the engine, which replays them itself (`engine/src/fuzzing.rs`)."""
INPUTS = sorted(path for path in FUZZ.glob("corpus/*/*") if path.parent.name not in ENGINES)


@pytest.fixture(scope="session")
def targets(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    return load_module(FUZZ / "targets.py")


@pytest.mark.whole
@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_input_that_was_found_once(targets: ModuleType, path: Path) -> None:
    targets.run(targets.TARGETS[path.parent.name], path.read_bytes())


@pytest.mark.whole
def test_every_target_has_inputs(targets: ModuleType) -> None:
    assert {path.parent.name for path in INPUTS} == set(targets.TARGETS)
