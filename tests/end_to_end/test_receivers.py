"""`loadstone redis --subscribers` and `--consumers` on a real server: measured, recorded, and nothing left."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.test_load_commands import DONE, loadstone, trials_of
from tests.real_servers import UserRedis


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Where commands are given."""
    return tmp_path / "here"


@pytest.mark.parametrize(
    ("options", "command", "copies"),
    [
        (("--subscribers", "6", "--channels", "2"), "PUBLISH", 3),
        (("--consumers", "4", "--streams", "2", "--rate", "3000"), "XADD", 1),
    ],
)
def test_what_is_sent_is_received(
    user_redis: Callable[..., UserRedis], here: Path, options: tuple[str, ...], command: str, copies: int
) -> None:
    server = user_redis()
    server.client().set("a", "theirs")
    done = loadstone(
        "redis", server.url, *options, "-c", "4", "--repeat", "2", "--test-time", "0.6", "--out", "kept",
        "--json-out-file", "out.json", folder=here,
    )  # fmt: skip
    assert done.returncode in DONE, done.stderr
    trials = trials_of(here)
    assert len(trials) == 2
    for trial in trials:
        drive = trial["facts"]["drive"]
        found = drive["receivers"]
        assert found["expected"] == found["delivered"] == copies * trial["counts"]["ok"] > 0
        verdicts = {check["name"]: check["verdict"] for check in trial["checks"]}
        assert (verdicts["deliveries"], verdicts["server_counter"], verdicts["payload"]) == ("valid",) * 3
        assert drive["commands"][command]["replied"] >= trial["counts"]["ok"]
    assert server.client().keys("*") == ["a"], "streams are removed like other keys"
    (row,) = json.loads((here / "out.json").read_text())["tables"][0]["rows"]
    if row["deliveries"] is not None:  # else the checks refused all figures, as on a machine that others keep busy
        assert row["deliveries"]["delivered"] == sum(t["facts"]["drive"]["receivers"]["delivered"] for t in trials)
        assert "deliveries of" in done.stdout
    assert "delivered/s" in done.stdout
