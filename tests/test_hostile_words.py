"""Whatever stands behind an option, the answer is one line for the user and status 2, or the command goes on with it.

Every option and argument of every command of the core, taken from the tree of commands, with values that no one means.
Nothing connects and nothing starts: the first attempt ends the case, and counts as accepted.
"""

import os
import shutil
import socket
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loadstone.cli import main
from loadstone.cli.command import COMMANDS as OF_ADD_ONS
from loadstone.run import describe, run
from tests.frozen_runs import unpacked
from tests.parser import parser
from tests.tiny_experiment import TINY

LONG = "9" * 5000
VALUES = [
    "", "-1", "0", "1e400", "nan", LONG, f"a={LONG}", "\udcff", "\U0001f600", "\x1b[31m\n", "{key",
    f"SADD {{key}} {{uniform 1..{LONG}}}", f"LMPOP {LONG} {{key}} LEFT", f"p99 > {LONG} ms", "redis://a..b",
    f"http://{'a' * 300}/", "x" * 20_000,
]  # fmt: skip
"""No word on a command line has a NUL: the kernel ends it there. Neighbours are of a kind."""
HALVES = pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.prove)])
"""An option gets every second value each day, by its name and its command, and the others by `make prove`."""
BASES: dict[str, list[str]] = {
    "run": ["tiny.yaml"],
    "setup": ["tiny.yaml"],
    "show": ["tiny.yaml"],
    "http": ["http://127.0.0.1:1/"],
    "report": ["a-run"],
}
"""What a command needs beside the option."""
BESIDE: dict[str, list[str]] = {
    "--speed": ["--replay", "/dev/null"],
    "--channels": ["--subscribers", "4"],
    "--streams": ["--consumers", "4"],
    "--command-ratio": ["--command", "GET {key}"],
    "--load": ["--command", "GETRANGE {key} 0 9"],
    "--user": ["redis://127.0.0.1:1", "-a", "word"],
    "--slice": ["redis://127.0.0.1:1", "--against", "redis://127.0.0.1:2"],
    "--key-stddev": ["--key-pattern", "G:G"],
    **{name: ["redis://127.0.0.1:1", "--tls"] for name in ("--cacert", "--cert", "--key", "--sni")},
    "http --slice": ["--against", "http://127.0.0.1:2"],
    "--a": ["--b", "pipeline=1"],
    "--b": ["--a", "pipeline=1"],
}
NAMES = {"--uri": "servers.redis.url", "--host": "servers.redis.url"}
"""What a message calls an option otherwise."""


class _Started(BaseException):
    """The command did not refuse the value, and went on."""


def stop(*_: object, **__: object) -> None:
    raise _Started


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, below in getattr(command, "commands", {}).items():
        yield from _commands(below, (*path, name))
    if not hasattr(command, "commands"):
        yield " ".join(path), command


COMMANDS = dict(_commands(parser()))
OF_CORE = [path for path in COMMANDS if path.split()[0] not in OF_ADD_ONS.names()]


def _cases(path: str, half: int) -> Iterator[tuple[list[str], set[str]]]:
    """Each command line with one half of the values, and what its error may call the value by."""
    command = COMMANDS[path]
    before: list[str] = []
    for parameter in command.params:
        if getattr(parameter, "is_flag", False) or parameter.name == "help":
            continue
        names = {
            *parameter.opts,
            *(name.lstrip("-") for name in parameter.opts if name.startswith("--")),
            NAMES.get(parameter.opts[0], parameter.opts[0]),
            parameter.metavar or "?",
        }
        first = (zlib.crc32(parameter.opts[-1].encode()) + sum(map(ord, path)) + half) % 2
        for value in VALUES[first::2]:
            if parameter.param_type_name == "argument":
                shown = value.strip()[:20] if "\udcff" not in value else "is not text in UTF-8"
                yield [*path.split(), *before, "--", value], {*names, *path.split(), shown}
            else:
                option = next((name for name in parameter.opts if name in BESIDE), "")
                beside = BESIDE.get(f"{path} {option}", BESIDE.get(option, []))
                yield [*path.split(), *BASES.get(path, []), *beside, parameter.opts[-1], value], names
        if parameter.param_type_name == "argument":
            before = BASES.get(path, [])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("pipeline", tmp_path_factory.mktemp("finished"))


@pytest.fixture(autouse=True)
def nothing_starts(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(TINY)
    shutil.copytree(finished, "a-run")
    monkeypatch.setattr(socket.socket, "connect", stop)
    monkeypatch.setattr(subprocess.Popen, "__init__", stop)
    for name in ("fork", "posix_spawn", "execv"):
        monkeypatch.setattr(os, name, stop)
    monkeypatch.setattr(main, "in_readers_language", lambda _: parser())  # in English: made once, not for each value
    monkeypatch.setattr(run, "run", stop)
    monkeypatch.setattr(describe, "examine", stop)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.mark.fault(
    "absurd names, numbers or values for any option", "status 2 and one short line before anything starts", area="input"
)
@HALVES
@pytest.mark.parametrize("path", OF_CORE)
def test_a_value_that_no_one_means_is_one_line(
    path: str, half: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = [*not_refused(path, half, monkeypatch, capsys)]
    assert wrong == [], "\n".join(map(str, wrong))


def not_refused(
    path: str, half: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *well: int
) -> Iterator[tuple[list[str], object, str]]:
    """The command lines that end otherwise, with status and words; `well`: a status that is right, too."""
    for words, names in _cases(path, half):
        monkeypatch.setattr(sys, "argv", ["loadstone", *words])
        status: object = 0
        try:
            main.main()
        except SystemExit as ended:
            status = ended.code
        except _Started:
            status = "went on"
        said = capsys.readouterr().err
        refused = status == 2 and said.count("\n") == 1 and len(said) < 2300 and any(name in said for name in names)
        if not refused and status not in (0, "went on", *well):
            yield [word[:60] for word in words], status, said[:300]


def test_every_command_is_there() -> None:
    assert {"run", "show", "redis", "http", "report"} <= set(OF_CORE)
