"""A loop by a script, over a real folder."""

from pathlib import Path
from types import ModuleType

import pytest

from .scripted_loop import Bench


@pytest.fixture
def bench(synthetic: ModuleType, tmp_path: Path) -> Bench:
    return Bench(synthetic, tmp_path / "runs")
