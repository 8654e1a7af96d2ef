"""The Action and the template: their very scripts, with a `loadstone` that writes down how it was called.

`scripts/bench ci-steps` carries them out with real gates, from a clean clone.
"""

import json
import re
import stat
from pathlib import Path

import pytest

from tests.ci_steps import FILES, action, run_action, run_gitlab, template

STUB = """\
#!/usr/bin/env python3
import json, os, sys
json.dump(sys.argv[1:], open(os.environ["CALLED"], "w"))
json.dump(dict(os.environ), open(os.environ["CALLED"].replace(".json", ".environment"), "w"))
status = int(os.environ["STATUS"])
for file in filter(None, os.environ.get("FORGED", "").split(":")):  # as a build that went looking for them
    open(file, "a").write("verdict=same\\n")
for file in filter(None, os.environ.get("LINKED", "").split(":")):
    os.remove(file)
    os.symlink(os.environ["VICTIM"], file)
if "PREMADE" in os.environ:
    for option, value in zip(sys.argv, sys.argv[1:]):
        if option in ("--result", "--summary", "--junit"):
            open(value, "w").write(os.environ["PREMADE"])
for option, value in zip(sys.argv, sys.argv[1:]):
    if option == "--result" and status != 2:
        json.dump({"verdict": {0: "same", 1: "slower", 3: "invalid", 4: "undecided"}[status]}, open(value, "w"))
    if option == "--summary" and status != 2:
        open(value, "a").write("### verdict\\n")
print("::set-output name=x::stolen by a branch's name")
print("--build: main does not build: ##[add-path]/evil", file=sys.stderr)
if "--annotations" in sys.argv:
    print("::error title=loadstone gate::SLOWER")
sys.exit(status)
"""


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where its calls are written to; the stub stands where both install."""
    for folder in ("loadstone", "loadstone-1"):
        file = tmp_path / folder / "bin" / "loadstone"
        file.parent.mkdir(parents=True)
        file.write_text(STUB)
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CALLED", str(tmp_path / "called.json"))
    return tmp_path / "called.json"


SHADOW = "open('pwned', 'w')"
"""Of a module in the checkout that is called as one of Python's."""
HOSTILE = "$(touch pwned)`touch pwned`; touch pwned #\"'"


SHADOWED = ("json.py", "os.py", "venv.py")


def checkout(tmp_path: Path) -> Path:
    """A stranger's, with modules that are called as those of Python, and what a gate leaves."""
    place = tmp_path / "checkout"
    place.mkdir()
    for name in SHADOWED:
        (place / name).write_text(SHADOW)
    return place


def environment_of(stub: Path) -> dict[str, str]:
    """The variables that `loadstone` had, and so what it starts."""
    found: dict[str, str] = json.loads(stub.with_suffix(".environment").read_text())
    return found


@pytest.mark.parametrize(
    ("status", "undecided", "ends", "verdict"),
    [(0, "pass", 0, "same"), (1, "pass", 1, "slower"), (3, "pass", 3, "invalid"), (4, "pass", 0, "undecided"),
     (4, "fail", 4, "undecided"), (2, "pass", 2, "")],
)  # fmt: skip
def test_the_action_ends_as_the_verdict_says(
    stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, undecided: str, ends: int, verdict: str
) -> None:
    monkeypatch.setenv("STATUS", str(status))
    place = checkout(tmp_path)
    inputs = {"base": HOSTILE, "build": "make", "undecided": undecided, "options": f"--path=/a b\n\n{HOSTILE}\r\n"}
    done = run_action(place, inputs, tmp_path, cached=True)
    assert done.status == ends
    assert done.outputs["gate"]["verdict"] == verdict
    assert done.outputs["gate"]["status"] == str(status)
    called = json.loads(stub.read_text())
    assert called[:8] == [
        *("gate", f"--base={HOSTILE}", "--head=HEAD", "--budget=60 s", "--tolerance=3 %"),
        *("--build=make", "--path=/a b", HOSTILE),
    ]
    assert {path.name for path in place.iterdir()} == set(SHADOWED)
    assert not {"BASE", "HEAD", "BUILD", "START", "OPTIONS"} & environment_of(stub).keys()
    assert ("The gate did not run (status 2)" in done.summary) == (status == 2)
    lines = done.said.splitlines()
    stopped = re.fullmatch(r"::stop-commands::([0-9a-f]{32})", lines[0])
    assert stopped
    resumed = lines.index(f"::{stopped[1]}::")
    assert [line for line in lines[1:resumed] if line.startswith("::")] == [
        "::set-output name=x::stolen by a branch's name"  # while commands are stopped
    ]
    assert "--build: main does not build: ##[add-path]/evil" in lines[1:resumed], "what is elsewhere may be read later"
    assert done.errors == ""
    assert lines[resumed + 1 :] == ([] if status == 2 else ["::error title=loadstone gate::SLOWER"])


FROM_RUNNER = {"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", *FILES}


def test_no_build_of_a_stranger_tells_later_steps_or_the_summary_anything(
    stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / "summary.md", tmp_path / "gate.outputs", *(tmp_path / f"gate.{name}" for name in FILES)]
    monkeypatch.setenv("STATUS", "1")
    monkeypatch.setenv("FORGED", ":".join(map(str, files)))
    done = run_action(checkout(tmp_path), {"base": "main"}, tmp_path, cached=True)
    assert not FROM_RUNNER & environment_of(stub).keys()
    assert (done.summary, done.left) == ("### verdict\n", "")
    assert done.outputs["gate"]["verdict"] == "slower"
    assert (tmp_path / "gate.outputs").read_text().splitlines()[0] == "status=1"


FORGERY = '{"verdict": "same\\nresult=/forged"}'
"""Of a build, as text and as JSON."""


@pytest.mark.parametrize("status", [2, 3, 130, 137])
def test_what_a_build_writes_in_the_place_of_a_verdict_is_none(
    stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """Where the gate itself wrote nothing: it was refused, or killed."""
    assert stub
    monkeypatch.setenv("STATUS", str(status))
    monkeypatch.setenv("PREMADE", FORGERY)
    if status != 3:
        (tmp_path / "loadstone" / "bin" / "loadstone").write_text(STUB.replace("status != 2", "False"))
        (tmp_path / "loadstone-1" / "bin" / "loadstone").write_text(STUB.replace("status != 2", "False"))
    done = run_action(checkout(tmp_path), {"base": "main"}, tmp_path, cached=True)
    left = {name: done.outputs["gate"][name] for name in ("status", "verdict")}
    assert left == {"status": str(status), "verdict": "invalid" if status == 3 else ""}
    assert "forged" not in json.dumps(done.outputs)
    if status != 3:
        assert done.summary.startswith(f"### ⛔ The gate did not run (status {status})")
        place = tmp_path / "checkout"
        assert run_gitlab(place, {"GATE_BASE": "abc"}, tmp_path, installed=True).status == status
        assert not list(place.glob("gate.*"))


def test_a_link_in_the_place_of_a_file_of_the_runner_is_not_followed(
    stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stub
    victim = tmp_path / "victim"
    victim.write_text("PATH=/evil\n")
    files = [tmp_path / "summary.md", tmp_path / "gate.outputs", *(tmp_path / f"gate.{name}" for name in FILES)]
    monkeypatch.setenv("STATUS", "1")
    monkeypatch.setenv("VICTIM", str(victim))
    monkeypatch.setenv("LINKED", ":".join(map(str, files)))
    done = run_action(checkout(tmp_path), {"base": "main"}, tmp_path, cached=True)
    assert (done.summary, done.left, done.outputs["gate"]["verdict"]) == ("### verdict\n", "", "slower")
    assert victim.read_text() == "PATH=/evil\n"
    assert not any(file.is_symlink() for file in files)


def test_a_build_gets_those_variables_of_the_runner_that_are_listed(
    stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ("GITHUB_SHA", "GITHUB_ACTIONS", "RUNNER_TOOL_CACHE", "CI", "OF_THE_JOB")
    for name in (*kept, "ACTIONS_RUNTIME_TOKEN", "ACTIONS_NEW", "GITHUB_TOKEN", "GITHUB_NEW", "INPUT_KEY", "STATE_x"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("STATUS", "0")
    run_action(checkout(tmp_path), {"base": "main"}, tmp_path, cached=True)
    runners = ("GITHUB_", "RUNNER_", "ACTIONS_", "INPUT_", "STATE_")
    found = environment_of(stub)
    assert all(found[name] == "x" for name in kept)
    assert {name for name in found if name.startswith(runners)} - set(kept) == {"RUNNER_OS", "RUNNER_ARCH"}


def test_the_action_keys_its_install_by_what_is_installed(tmp_path: Path) -> None:
    keys = []
    for package in ("", "loadstone==0.2.0"):
        place = tmp_path / f"of-{package}"
        place.mkdir()
        done = run_action(place, {"base": "main", "package": package, "undecided": "never"}, place, cached=True)
        assert done.status == 2
        assert done.errors == "undecided: write pass or fail\n"
        keys.append(done.outputs["key"]["key"])
    assert all(re.fullmatch(r"loadstone-Linux-X64-[0-9a-f]{64}", key) for key in keys)
    assert keys[0] != keys[1]


def test_the_action_takes_no_right_and_pins_what_it_uses() -> None:
    text = json.dumps(action())
    assert "github.token" not in text
    assert "secrets." not in text
    used = [step["uses"] for step in action()["runs"]["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40}", one) for one in used)


@pytest.mark.parametrize("status", [0, 1, 2, 3, 4])
def test_the_template_ends_as_the_verdict_says(
    stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("STATUS", str(status))
    place = checkout(tmp_path)
    for name in ("gate.md", "gate.xml", "gate.json"):
        (place / name).write_text("forged")
    variables = {"GATE_BASE": "abc", "GATE_START": HOSTILE, "GATE_OPTIONS": "--path=/a b\n--twin"}
    done = run_gitlab(place, variables, tmp_path, installed=True)
    assert done.status == status
    assert json.loads(stub.read_text())[:8] == [
        *("gate", "--base=abc", "--head=HEAD", "--budget=60 s", "--tolerance=3 %"),
        *(f"--start={HOSTILE}", "--path=/a b", "--twin"),
    ]
    assert not (place / "pwned").exists()
    assert done.summary == ("" if status == 2 else "### verdict\n")
    assert "forged" not in "".join(path.read_text() for path in place.glob("gate.*"))
    assert template()["allow_failure"]["exit_codes"] == [4]


def test_what_a_branch_can_write_to_is_not_kept_for_other_jobs() -> None:
    steps = [step.get("uses", step.get("id", "")).partition("@")[0] for step in action()["runs"]["steps"]]
    assert steps == ["key", "actions/cache/restore", "install", "actions/cache/save", "gate"]
    assert template()["cache"] == []
