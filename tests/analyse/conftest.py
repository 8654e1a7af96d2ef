"""Runs with comparisons in them, as a fixture."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def studies() -> ModuleType:
    """The module `studies.py`."""
    spec = importlib.util.spec_from_file_location("loadstone_studies", Path(__file__).with_name("studies.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
