"""`loadstone check driver`: what somebody sees of a driver of their own, a line a part."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.calling import called

from loadstone.addons.driver_contract import parts as parts_module
from loadstone.addons.driver_contract.command import check_driver
from loadstone.addons.driver_contract.lab import NotClaimed, Wrong
from loadstone.addons.driver_contract.parts import PARTS
from loadstone.safety.errors import UserError

MANIFEST: dict[str, Any] = {
    "name": "mine",
    "title": "Mine",
    "library": "mine",
    "version": "1.0",
    "run": {"command": f"{sys.executable} {{folder}}/drive.py"},
    "can": {"protocols": ["resp2"], "models": ["closed"], "distributions": ["uniform"], "features": ["lifo"]},
}


def check(folder: Path, program: str, *arguments: str, **changed: Any) -> tuple[int, list[str]]:
    """The exit status, and the lines."""
    (folder / "driver.yaml").write_text(json.dumps({**MANIFEST, **changed}))
    (folder / "drive.py").write_text(program)
    checked = called("check", "driver", folder, "--trust", *arguments)
    return checked.returncode, (checked.stdout + checked.stderr).splitlines()


def test_a_program_that_ends_at_once_fails_each_part_in_a_line(tmp_path: Path) -> None:
    program = "import sys; sys.exit('no such library')"
    status, lines = check(tmp_path, program, "--part", "plans", "--part", "kill", "--part", "input", "--part", "stop")
    assert status == 3
    assert lines[0] == "Mine: mine 1.0"
    assert len(lines) == 2 + 4
    died = "it ended before its record: it ended with status 1; its log ends with: no such library"
    assert all(line.startswith("FAILED") and died in line for line in lines[1:-1]), lines
    assert lines[-1] == "0 passed, 4 failed"


def test_what_the_manifest_does_not_claim_is_skipped_and_said(tmp_path: Path) -> None:
    status, lines = check(tmp_path, "", "--part", "arrivals of", "--part", "each key once")
    assert status == 0
    assert [line.split() for line in lines[1:-1]] == [
        ["skipped", "texts,", "each", "key", "once", "keys.distribution:", "it", "cannot", "drive", "'exactly_once'"],
        ["skipped", "arrivals", "of", "the", "open", "model", "model.kind:", "it", "cannot", "drive", "'open'"],
    ]
    assert lines[-1] == "0 passed, 0 failed, 2 skipped, which the manifest does not claim"


@pytest.mark.parametrize(
    ("arguments", "changed", "said"),
    [
        (("--part", "colour"), {}, "loadstone: --part: no part has colour in its name; parts are: counts, pool of 1"),
        ((), {"requires": {"no-such-tool": "1"}}, "driver mine: requires.no-such-tool: it is not installed"),
        ((), {"can": {}}, "can.protocols: Field required; see docs/drivers.md"),
        (
            (),
            {"build": {"commands": ["false"], "inputs": ["*.py"], "output": "x"}},
            "driver mine: it does not build: nothing; its log is",
        ),
    ],
)
def test_what_is_wrong_before_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    changed: dict[str, Any],
    said: str,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    status, lines = check(tmp_path, "", *arguments, **changed)
    assert status == 2
    assert said in " ".join(lines)
    assert not any("Traceback" in line for line in lines)


def test_each_outcome_of_a_part_is_one() -> None:
    def raising(error: Exception) -> Any:
        def part(_: object) -> str:
            raise error

        return part

    parts = (
        ("good", lambda _: "3 of 3"),
        ("wrong", raising(Wrong("2 of 3"))),
        ("gone", raising(BrokenPipeError(32, "Broken pipe"))),
        ("lacking", raising(NotClaimed("no tls"))),
    )
    tried = [(one.outcome, one.said) for one in parts_module.tried(None, parts)]  # type: ignore[arg-type]
    assert tried == [
        ("passed", "3 of 3"),
        ("FAILED", "2 of 3"),
        ("FAILED", "[Errno 32] Broken pipe"),
        ("skipped", "no tls"),
    ]


def test_parts_have_names_of_their_own() -> None:
    assert len({name for name, _ in PARTS}) == len(PARTS)


@pytest.mark.fault("a driver's manifest from someone else", "`check driver` needs consent", area="foreign")
def test_a_driver_of_someone_elses_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "driver.yaml").write_text(
        'name: theirs\ntitle: T\nlibrary: t\nversion: "1"\nrun: {command: "sh -c \'touch driven\'"}\n'
        "can: {protocols: [resp2], models: [closed], distributions: [uniform], features: []}\n"
    )
    with pytest.raises(UserError, match=r"a run starts sh -c 'touch driven' .*--trust"):
        check_driver(str(tmp_path), (), lambda _: None, lambda _: None)
    assert not (tmp_path / "driven").exists()
