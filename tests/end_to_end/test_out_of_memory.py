"""A server that the kernel's OOM killer ends makes its trial invalid, and the reason says so."""

import json

import pytest

from tests.end_to_end.conftest import Lab, check_of, reason_of

pytestmark = pytest.mark.timeout(300)


@pytest.mark.fault("the OOM killer ends a part", "the trial is invalid and says so", area="limits")
def test_a_server_that_outgrows_its_memory_limit_is_named(lab: Lab) -> None:
    path = lab.experiment(
        measure="20 s",
        limits="{kind: embedded, modules: [json]} => {kind: embedded, modules: [json], limits: {memory: 40 MB}}",
        large="payload_bytes: 100 B => payload_bytes: 1 MB",
    )
    done = lab.loadstone("run", path, "--only", "operation=set", "--only", "workers=4")
    (trial,) = lab.trials()
    environment = json.loads((lab.run() / "environment.json").read_text())
    if environment["servers"]["redis"]["limits"]["memory"]["status"] == "unavailable":
        pytest.skip("no control groups for us here")
    assert trial["verdict"] == "invalid"
    assert "server redis: the kernel's OOM killer ended a process of it" in reason_of(check_of(trial, "finished"))
    assert "raise limits.memory" in done.out + done.err
    assert done.status == 3
