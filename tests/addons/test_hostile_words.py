"""The answer to values that no one means, of each option and argument of every command of an add-on."""

from pathlib import Path

import pytest
from tests.test_hostile_words import COMMANDS, HALVES, OF_CORE, finished, not_refused, nothing_starts, stop  # noqa: F401

from loadstone.addons.driver_contract import command as check_driver
from loadstone.addons.fleet import certificates, dask_cluster, serving
from tests import test_hostile_words as core

BASES: dict[str, list[str]] = {
    "saturate http": ["http://127.0.0.1:1/"],
    "tag": ["a-run"],
    "compare": ["a-run"],
    "capacity": ["a-run"],
    "upgrade-check": ["redis", "valkey"],
    "check driver": ["redis-py"],
    "baseline set": ["a-run"],
    "baseline remove": ["tiny"],
    "history": ["tiny"],
    "gate http": ["--base-url", "http://127.0.0.1:1", "--head-url", "http://127.0.0.1:2"],
    "gate redis": ["--base", "redis", "--head", "valkey"],
    "fleet agent": ["tls://127.0.0.1:1"],
    "fleet up": ["local:1"],
    **{f"fleet {name}": ["tls://127.0.0.1:1"] for name in ("status", "down", "doctor")},
}
BESIDE: dict[str, list[str]] = {
    "serve --cert": [],
    "serve --key": [],
    "gate http --slice": [],
    "gate redis --slice": [],
}
CREDENTIALS = certificates.made()
OF_ADD_ONS = [path for path in COMMANDS if path not in OF_CORE]
NO_RUN = (2, "loadstone: there is no run in runs; `loadstone run EXPERIMENT` makes one\n")
"""What `history` says in an empty folder, whatever its options are."""
WELL = {"capacity": (3,)}
"""A file's name may be anything; the run has one level of users."""


@pytest.fixture(autouse=True)
def nothing_of_them_starts(
    nothing_starts: None,  # noqa: ARG001, F811 (begun before)
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, known in (("BASES", BASES), ("BESIDE", BESIDE), ("NAMES", {"--head": "--base-url"})):
        monkeypatch.setattr(core, name, getattr(core, name) | known)
    monkeypatch.setattr(check_driver, "check_driver", stop)
    monkeypatch.setattr(dask_cluster, "open_cluster", stop)
    for name in ("serve_scheduler", "serve_member"):
        monkeypatch.setattr(serving, name, stop)
    monkeypatch.setattr("loadstone.addons.pages.server.serve", stop)
    certificates.write(tmp_path / "fleet", CREDENTIALS)
    monkeypatch.setenv(certificates.FOLDER_VARIABLE, str(tmp_path / "fleet"))


@pytest.mark.fault("absurd names, numbers or values for any option")
@HALVES  # mark.prove: the others
@pytest.mark.parametrize("path", OF_ADD_ONS)
def test_a_value_that_no_one_means_is_one_line(
    path: str, half: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = not_refused(path, half, monkeypatch, capsys, *WELL.get(path, ()))
    wrong = [one for one in found if one[1:] != NO_RUN]
    assert wrong == [], "\n".join(map(str, wrong))


def test_every_command_is_there() -> None:
    assert {"saturate http", "check driver", "gate redis", "fleet agent", "serve"} <= set(OF_ADD_ONS)
