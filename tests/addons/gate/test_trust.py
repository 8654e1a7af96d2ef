"""What a gate is asked to start is not remembered as trusted."""

from pathlib import Path

import pytest
from tests.experiments import described

from loadstone.addons.gate.options import GateOptions
from loadstone.addons.gate.redis import redis_gate
from loadstone.cli.ad_hoc_experiment import ad_hoc_source
from loadstone.cli.load import Load
from loadstone.cli.redis_experiment import RedisRequest
from loadstone.cli.redis_options import AddressOptions, KeySpace, Login, ReceiverOptions, RedisWork, ReplayOptions
from loadstone.machine.processes.cache_folder import cache_folder
from loadstone.run.consent import FOLDER
from loadstone.run.prepare import _require_trust, requested_plan
from loadstone.run.request import RunRequest


def test_a_gate_leaves_no_answer_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its versions were typed, and what starts them stands in a folder of that one command."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked = RedisRequest(
        None, Load(), RedisWork(ratio="1:1"), KeySpace(), ReceiverOptions(), ReplayOptions(), Login(), AddressOptions()
    )
    experiment = described(ad_hoc_source(redis_gate("sh", "/bin/sh", asked, GateOptions())))
    for typed, kept in ((True, 0), (False, 1)):
        options = RunRequest(seed=1, typed=typed, trust=not typed)
        _require_trust(experiment, requested_plan(experiment, options), options)
        assert len(list((cache_folder() / FOLDER).glob("*.json"))) == kept
