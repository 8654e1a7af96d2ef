"""Runs with comparisons in them, as a fixture."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def studies(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    """The module `studies.py`."""
    return load_module(Path(__file__).with_name("studies.py"))
