"""An agent as process 1, which it is in every container, and an engine whose agent is gone."""

import os
import shutil
import subprocess
import sys

import pytest

AGENT = """
import os, time
from loadstone.addons.fleet.agent import EngineOfAgent
engine = EngineOfAgent()
time.sleep(1.5)
print(os.getpid(), engine.alive, engine.order({"order": "lease", "drive": "", "lease_s": 1}))
engine.end()
"""


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare")
def test_the_engine_of_an_agent_that_is_process_1_goes_on() -> None:
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", AGENT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "1 True True\n", done.stderr


def test_an_engine_that_another_process_started_ends_at_once() -> None:
    command = [sys.executable, "-P", "-m", "loadstone.addons.fleet.engine_process", str(os.getppid())]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as engine:
        assert engine.wait(30) == -9
