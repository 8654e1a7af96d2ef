"""The synthetic trials, as a fixture."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    """The module `tests/record/synthetic.py`."""
    path = Path(__file__).parent / "record" / "synthetic.py"
    spec = importlib.util.spec_from_file_location("loadstone_synthetic", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
