"""The drivers of the JVM: tests of what the contract does not reach, run by Maven."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLES = Path("tests") / "examples" / "driver"

pytestmark = [
    pytest.mark.skipif(shutil.which("mvn") is None, reason="no Maven: scripts/apt installs it where it can"),
    pytest.mark.timeout(600),  # the first build downloads its libraries
]


def test_their_own_tests(tmp_path: Path) -> None:
    built = shutil.ignore_patterns("target")
    shutil.copytree(ROOT / EXAMPLES, tmp_path / EXAMPLES)
    shutil.copytree(ROOT / "clients", tmp_path / "clients", ignore=built)
    ran = subprocess.run(["mvn", "-q", "-B", "test"], cwd=tmp_path / "clients", capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-4000:]
    reports = list((tmp_path / "clients").glob("*/target/surefire-reports/TEST-*.xml"))
    assert sum(report.read_text().count("<testcase") for report in reports) >= 6
