from pathlib import Path

import pytest

SMALL = Path(__file__).parents[1] / "examples" / "experiment" / "small.yaml"


@pytest.fixture
def small() -> str:
    """The text of a small experiment without a mistake."""
    return SMALL.read_text()
