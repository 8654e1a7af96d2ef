"""The bench's modules, imported as `python -m peers` has them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="session", autouse=True)
def bench_is_importable() -> Iterator[None]:
    """For this process and those that it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCH)
        patch.setenv("PYTHONPATH", str(BENCH), prepend=":")
        yield
        for name in [one for one in sys.modules if one == "peers" or one.startswith("peers.")]:
            del sys.modules[name]
