"""What is made without measuring, frozen beside the runs: plans, what command lines stand for, errors, helps, and what
a run tells while it goes on.

Machine, place and time are handed in or left out: CPUs, memory, seed, the width of the terminal, temporary folders.
"""

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

from ruamel.yaml import YAML
from tests.frozen_runs import FROZEN, Files, in_language, unpacked
from tests.parser import parser
from tests.plan_text import PLAN, plan_text
from typer.exceptions import TyperException
from typer.main import get_command

from loadstone.cli.carry_out import describe_or_measure
from loadstone.cli.command import usage_error
from loadstone.cli.help import in_readers_language
from loadstone.cli.main import whole as whole_command
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.spec.built_in import names as studies
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.loading import load_experiment
from loadstone.run.describe import print_announcement
from loadstone.run.prepare import requested_experiment, requested_plan
from loadstone.run.request import RunRequest
from loadstone.safety.bounds.describe_only import forbid_connections
from loadstone.safety.errors import LoadstoneError
from loadstone.safety.secrets import known, references
from loadstone.safety.terminal import shown
from loadstone.text.language import LANGUAGES, use_language
from loadstone.text.message import AnyText

from .frozen_live import live

CPUS, CPU_COUNT, MEMORY_BYTES, SEED = (1,), 2, 8 << 30, 1
COLUMNS = 80
LENGTHS = ("", "quick", "as-published")
MANIFEST = "subject.yaml"
RESUMED = ("redis-rate", "saturate-closed")
EXPERIMENTS, CASES = ("small.yaml", "app.yaml"), "cases.jsonl"
LINES = "lines.yaml"
FILES = "files"
"""Command lines by name, and what they read."""
_TEMPORARY = re.compile(r"[^\s\"']*/loadstone-(gate|recording)-\w+")
_RECORDING = re.compile(r"(?<=/temporary/recording/)\d+(?=\.recorded)")
"""The number of a recording among those of this process: of the command's own it is 0."""
_ROOT = Path(__file__).parents[2]
_COMMITTED = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}


def plans(folder: Path) -> Files:
    """Of each study and each length that it has: the plan, and what a run says before it starts."""
    files: Files = {}
    said: dict[str, list[str]] = {language: [] for language in LANGUAGES}
    for study in studies():
        experiment = requested_experiment(RunRequest(study))
        for length in LENGTHS if experiment.as_published is not None else LENGTHS[:2]:
            options = RunRequest(study, seed=SEED, quick=length == "quick", as_published=length == "as-published")
            plan = _planned(experiment, options)
            name = f"{study}-{length}" if length else study
            files[f"{name}{PLAN}"] = plan_text(plan, _without(folder))
            for language, lines in said.items():
                with use_language(language):
                    lines += [f"# {name}", *print_announcement(plan, experiment), ""]
    return files | {in_language("announced.txt", one): _lines(lines) for one, lines in said.items()}


def commands(folder: Path) -> Files:
    """Of each command line: the experiment that it stands for, its plan, and what is said before it starts."""
    files: Files = {}
    said: dict[str, list[str]] = {language: [] for language in LANGUAGES}
    with _of_a_user(folder):
        _prepare(folder)
        for name, words in command_lines().items():
            found = _carried_out(words, folder)
            files[f"{name}.yaml"] = found.experiment
            files[f"{name}{PLAN}"] = found.plan
            for language, lines in said.items():
                lines += [f"# {name}: {shlex.join(['loadstone', *words])}", *found.said[language], ""]
    return files | {in_language("announced.txt", one): _lines(lines) for one, lines in said.items()}


def helps(_folder: Path) -> Files:
    """The help of the whole command and of each command below it."""
    files: Files = {}
    for language in LANGUAGES:
        with use_language(language):
            # A parser of its own: what another test asked of one stays in it.
            whole = get_command(whole_command()) if language == LANGUAGES[0] else in_readers_language(whole_command())
            for path, text in _helps(whole, ("loadstone",), None):
                files[in_language(f"{'-'.join(path)}.txt", language)] = text.encode()
    return files


def errors(folder: Path) -> Files:
    """Of each mistake the line that says what is wrong: in the text of an experiment, or in a command line."""
    said: dict[str, list[str]] = {language: [] for language in LANGUAGES}
    for name in EXPERIMENTS:
        shutil.copy(FROZEN.parent / "experiment" / name, folder)
    unpacked(RESUMED[0], folder)
    without = _without(folder)
    with _of_a_user(folder), contextlib.chdir(folder):
        for case in (json.loads(line) for line in (FROZEN / "errors" / CASES).read_text().splitlines()):
            mistake = _mistake(case)
            for language, lines in said.items():
                with use_language(language):
                    lines.append(f"{case['name']}: {' '.join(without(shown(mistake)).split())}")
    return {in_language("errors.txt", one): _lines(lines) for one, lines in said.items()}


def command_lines() -> dict[str, list[str]]:
    """The command lines by their names, in words."""
    written = YAML(typ="safe").load(FROZEN / "commands" / LINES)
    return {name: shlex.split(line) for name, line in written.items()}


TEXTS: Mapping[str, Callable[[Path], Files]] = {
    "plans": plans,
    "commands": commands,
    "errors": errors,
    "helps": helps,
    "live": live,
}
"""Name -> what makes them, in an empty folder."""


@dataclass(frozen=True)
class _Found:
    experiment: bytes
    plan: bytes
    said: Mapping[str, list[str]]


class _Taken(Exception):
    def __init__(self, found: _Found) -> None:
        super().__init__()
        self.found = found


def _carried_out(words: list[str], folder: Path) -> _Found:
    """What a command line would carry out, taken at the moment at which it would."""
    remarks, without = io.StringIO(), _without(folder)

    def take(options: RunRequest) -> NoReturn:
        options = replace(options, seed=options.seed or SEED)
        experiment = requested_experiment(options)
        plan = _planned(experiment, options)
        said = {}
        for language in LANGUAGES:
            with use_language(language):
                said[language] = [
                    without(line) for line in (*remarks.getvalue().splitlines(), *print_announcement(plan, experiment))
                ]
        raise _Taken(_Found(without(_resolved(experiment)).encode(), plan_text(plan, without), said))

    place = contextlib.chdir(folder / "clone" if "--start" in words else folder)
    try:
        with place, forbid_connections(), describe_or_measure(take), contextlib.redirect_stderr(remarks):
            _parsed(words)
    except _Taken as taken:
        return taken.found
    raise AssertionError(f"{shlex.join(words)} carries nothing out")


def _mistake(case: Mapping[str, Any]) -> AnyText:
    """What is wrong, to be said in any language."""
    try:
        with forbid_connections(), describe_or_measure(_refuse), contextlib.redirect_stderr(io.StringIO()):
            if "file" in case:
                text = Path(case["file"]).read_text()
                assert case["old"] in text, f"{case['name']}: changes nothing"
                load_experiment(text.replace(case["old"], case["new"]), label=case["file"])
            else:
                _parsed(case["words"])
    except TyperException as error:
        return usage_error(error)
    except LoadstoneError as error:
        return error.message
    raise AssertionError(f"{case['name']}: no mistake")


def _refuse(options: RunRequest) -> NoReturn:
    """Some mistakes are found no earlier than in the plan."""
    _planned(requested_experiment(options), options)
    raise AssertionError("no mistake was found, and it would be measured")


@contextlib.contextmanager
def _of_a_user(folder: Path) -> Iterator[None]:
    """Within it nothing of who runs this counts: neither variables, secrets nor files of the home."""
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    with mock.patch.dict(os.environ, variables, clear=True):
        try:
            yield
        finally:
            known.forget()
            references.forget()


def _parsed(words: list[str]) -> None:
    """Carries out what a command line says."""
    before, sys.argv = sys.argv, ["loadstone", *words]
    try:
        parser()(list(words), prog_name="loadstone", standalone_mode=False)
    finally:
        sys.argv = before


def _resolved(experiment: Experiment) -> str:
    """The experiment as YAML, and below it the manifests that were written for it."""
    text, yaml = io.StringIO(), YAML()
    yaml.width = 10_000  # no path of this machine breaks a line
    yaml.dump(experiment.model_dump(mode="json"), text)
    for name, subject in experiment.subjects.items():
        if subject.manifest is not None:
            text.write(f"# {name}\n{Path(subject.manifest, MANIFEST).read_text()}")
    return text.getvalue()


def _planned(experiment: Experiment, options: RunRequest) -> RunPlan:
    return requested_plan(experiment, options, CPUS, CPU_COUNT, lambda: MEMORY_BYTES)


def _without(folder: Path) -> Callable[[str], str]:
    """What takes the places of this machine out of a text."""

    def without(text: str) -> str:
        text = _RECORDING.sub("0", _TEMPORARY.sub(r"/temporary/\1", text)).replace(str(folder), "/folder")
        return text.replace(str(_ROOT), "/loadstone")

    return without


def _lines(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _helps(command: Any, path: tuple[str, ...], above: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    width = {"terminal_width": COLUMNS - 2}  # as the width of a terminal is taken
    with command.make_context(path[-1], [], above, resilient_parsing=True, **width) as context:
        yield path, f"{command.get_help(context)}\n"
        for name, below in sorted(getattr(command, "commands", {}).items()):
            yield from _helps(below, (*path, name), context)


def _prepare(folder: Path) -> None:
    """What the command lines read: their files, runs that they resume, a clone."""
    shutil.copytree(FROZEN / "commands" / FILES, folder, dirs_exist_ok=True)
    for run in RESUMED:
        unpacked(run, folder)
    clone = folder / "clone"
    clone.mkdir()
    _git(clone, "init", "-q", "-b", "main", "--object-format=sha1")
    for text in ("old", "new"):
        (clone / "version").write_text(text)
        _git(clone, "add", ".")
        _git(clone, "commit", "-q", "-m", text)


def _git(clone: Path, *words: str) -> None:
    """The same commits wherever they are made."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *words], cwd=clone, check=True, env={**os.environ, **_COMMITTED})
