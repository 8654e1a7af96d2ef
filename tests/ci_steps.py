"""The steps of the GitHub Action and of the GitLab template, carried out here as their runners would."""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CI = Path(__file__).parents[1] / "ci"
_EXPRESSION = re.compile(r"\$\{\{ *([a-z]+)\.([\w.-]+) *\}\}")


@dataclass(frozen=True)
class Done:
    """What a job left."""

    status: int
    said: str
    """What the last step that ran printed to stdout."""
    errors: str
    outputs: dict[str, dict[str, str]]
    """Step -> name -> value."""
    summary: str
    left: str = ""
    """What the last step left for later ones: variables, folders of the PATH, state."""


FILES = ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE")
"""Beside the outputs and the summary: by them a step tells later ones."""


def action() -> dict[str, Any]:
    """The Action."""
    found: dict[str, Any] = yaml.safe_load((CI / "action.yml").read_text())
    return found


def template() -> dict[str, Any]:
    """The GitLab job."""
    found: dict[str, Any] = yaml.safe_load((CI / "gitlab.yml").read_text())[".loadstone-gate"]
    return found


def run_action(
    place: Path, inputs: Mapping[str, str], temporary: Path, *, action_path: Path = CI, cached: bool = False
) -> Done:
    """The steps of the Action in a checkout, with the shell that the runner uses; `cached`: an install is there."""
    given = {name: str(one.get("default", "")) for name, one in action()["inputs"].items()} | dict(inputs)
    outputs: dict[str, dict[str, str]] = {"cache": {"cache-hit": str(cached).lower()}}
    summary = temporary / "summary.md"
    summary.touch()
    done, left = subprocess.CompletedProcess[str]([], 0, "", ""), {}
    for step in action()["runs"]["steps"]:
        if "run" not in step or (step["id"] == "install" and cached):
            continue
        file = temporary / f"{step['id']}.outputs"
        left = {name: temporary / f"{step['id']}.{name}" for name in FILES}
        for made in (file, *left.values()):
            made.touch()
        environment = {
            **os.environ,
            **{name: str(path) for name, path in left.items()},
            "RUNNER_OS": "Linux",
            "RUNNER_ARCH": "X64",
            "RUNNER_TEMP": str(temporary),
            "GITHUB_ACTION_PATH": str(action_path),
            "GITHUB_OUTPUT": str(file),
            "GITHUB_STEP_SUMMARY": str(summary),
            **{name: _filled(text, given, outputs) for name, text in step.get("env", {}).items()},
        }
        assert "${{" not in step["run"], "an expression in a script is run by the shell"
        script = temporary / f"{step['id']}.sh"
        script.write_text(step["run"])
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        outputs[step["id"]] = dict(line.split("=", 1) for line in file.read_text().splitlines())
        if done.returncode:
            break
    told = "".join(path.read_text() for path in left.values())
    return Done(done.returncode, done.stdout, done.stderr, outputs, summary.read_text(), told)


def _filled(text: str, inputs: Mapping[str, str], outputs: Mapping[str, Mapping[str, str]]) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1] == "inputs":
            return inputs[found[2]]
        step, _outputs, name = found[2].split(".")
        return outputs.get(step, {}).get(name, "")

    return _EXPRESSION.sub(value, text)


def run_gitlab(place: Path, variables: Mapping[str, str], temporary: Path, *, installed: bool = False) -> Done:
    """The job's scripts in a checkout, in one shell, as a runner joins them; `installed`: the virtual environment
    is there."""
    job = template()
    given = {name: str(value) for name, value in job["variables"].items()} | dict(variables)
    given = {
        name: re.sub(r"\$([A-Z_]+)", lambda found: given.get(found[1], found[0]), text) for name, text in given.items()
    }
    environment = {**os.environ, "TMPDIR": str(temporary), "GATE_PLACE": str(temporary / "loadstone-1"), **given}
    lines = [*([] if installed else job["before_script"]), *job["script"]]
    done = subprocess.run(
        ["sh", "-e", "-c", "\n".join(lines)], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    summary = place / "gate.md"
    return Done(done.returncode, done.stdout, done.stderr, {}, summary.read_text() if summary.exists() else "")
