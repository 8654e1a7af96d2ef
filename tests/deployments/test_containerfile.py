"""The image: what must not go wrong unseen while it is built."""

import re
import subprocess
from pathlib import Path

import pytest
from tests.deployments.manifests import ROOT

PYTHON = "#!/bin/sh\n[ $1 != $FAILS ]\n"


@pytest.mark.parametrize(("fails", "builds"), [("slim.py", False), ("sbom.py", False), ("-m", True)])
def test_an_image_with_what_was_to_be_left_out_or_without_its_list_is_not_built(
    tmp_path: Path, fails: str, builds: bool
) -> None:
    text = (ROOT / "deployments" / "Containerfile").read_text()
    found = re.search(r"^RUN (\S+python slim\.py (?:.*\\\n)*.*)$", text, re.MULTILINE)
    assert found
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(PYTHON)
    python.chmod(0o755)
    command = found[1].replace("/opt/loadstone", str(tmp_path))
    environment = {"JSON": "no", "FAILS": fails, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, check=False)
    assert (done.returncode == 0) == builds
