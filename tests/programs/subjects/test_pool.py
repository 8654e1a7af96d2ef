"""The applications of a run: those that are started again start side by side."""

import json
import sys
from pathlib import Path

import pytest

from loadstone.experiment.plan.required import RequiredSubject
from loadstone.programs.subjects.pool import SubjectPool
from loadstone.servers.server import DeployContext

APPLICATION = """
import http.server, os, pathlib, sys, time
port, folder, own, other = int(sys.argv[1]), pathlib.Path(sys.argv[2]), *sys.argv[3:]
if (folder / "again").exists():  # serves once the other one has been started, too
    (folder / own).touch()
    while not (folder / other).exists():
        time.sleep(0.01)
http.server.HTTPServer(("127.0.0.1", port), http.server.BaseHTTPRequestHandler).serve_forever()
"""


@pytest.mark.timeout(60)
def test_what_starts_again_starts_side_by_side(context: DeployContext, tmp_path: Path) -> None:
    program = tmp_path / "app.py"
    program.write_text(APPLICATION)
    required = {}
    for own, other in (("a", "b"), ("b", "a")):
        folder = tmp_path / f"subject-{own}"
        folder.mkdir()
        command = f"{sys.executable} {program} {{port}} {tmp_path} {own} {other}"
        run = {"command": command, "ready": None, "ready_within_s": 20}
        (folder / "subject.yaml").write_text(json.dumps({"name": own, "run": run}))
        required[own] = RequiredSubject(manifest=str(folder))
    pool = SubjectPool(context)
    try:
        first = pool.need(required, {})
        (tmp_path / "again").touch()
        pool.restart([required])
        again = pool.need(required, {})
        for name in required:
            assert again[name].endpoints == first[name].endpoints
            assert again[name].pids != first[name].pids
            assert again[name].subject.alive()
    finally:
        pool.stop()
