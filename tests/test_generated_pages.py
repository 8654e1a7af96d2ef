"""What `make docs` writes is current: the checks, the metrics and the schemas as the code declares them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["checks", "metrics", "schemas"])
def test_it_is_as_the_declarations_have_it(name: str) -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "scripts" / f"{name}.py", "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
