"""What a newcomer types first, and what the command answers: a line that says what to do."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup

from tests.calling import called
from tests.parser import parser


def loadstone(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return called(*words, folder=folder, environment={"COLUMNS": "80"})


def test_without_a_command_it_prints_its_help_as_it_is(tmp_path: Path) -> None:
    bare, asked = loadstone(folder=tmp_path), loadstone("--help", folder=tmp_path)
    assert (bare.returncode, asked.returncode) == (2, 0)
    assert bare.stdout == asked.stdout
    assert asked.stdout.startswith("Usage: loadstone [OPTIONS] COMMAND")
    assert len(asked.stdout.splitlines()) > 10
    assert "..." not in asked.stdout.partition("Commands:")[2], "a line is cut"


def test_an_experiment_that_is_shown_may_be_tried(tmp_path: Path) -> None:
    done = loadstone("show", "json-documents", "--quick", folder=tmp_path)
    assert done.stdout.endswith("\ntry it: loadstone run json-documents --quick\n")


@pytest.mark.fault("absurd names, numbers or values for any option")
@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("show", "Missing argument 'EXPERIMENT|FILE.yaml': name an experiment (`loadstone list`)"),
        ("http", "Missing argument 'URL': write `loadstone http URL`, for example http://127.0.0.1:8080/"),
        ("report", "Missing argument 'RUN': write `loadstone report RUN`, `latest` is the newest"),
        (
            "redis --repeats 5",
            "No such option: --repeats; did you mean --repeat? `loadstone redis --help` lists the options",
        ),
        (
            "saturate redis --sentinel x",
            "No such option: --sentinel; `loadstone saturate redis --help` lists what it takes",
        ),
        ("saturate http://a.example", "No such command 'http://a.example': write `loadstone saturate http URL`"),
        ("redis://a.example", "No such command 'redis://a.example': write `loadstone redis URL`"),
        ("redis --budget 5", "--budget: '5' has no unit; write for example `90 s`, `20 min`, `1 h`"),
        (
            "show aof",
            "experiment 'aof' is not known; did you mean 'aof-modes'? built-in experiments: aof-modes, caches, "
            "client-libraries, jedis-vs-lettuce, json-documents, local-vs-cloud, memory-vs-disk, update-ways; or name "
            "a file that ends in .yaml",
        ),
        ("redsi", "No such command 'redsi'. Did you mean 'redis'? `loadstone --help` lists the commands"),
        ("upgrade-check redis", "Missing argument 'B': write `loadstone upgrade-check A B`"),
        ("plan x", "No such command 'plan'; `loadstone --help` lists the commands"),
        ("shwo", "No such command 'shwo'. Did you mean 'show'? `loadstone --help` lists the commands"),
        ("redis -n", "Option '-n' requires an argument; `loadstone redis --help` lists what it takes"),
        (
            "http http://h -X GETT",
            "Invalid value for '--method' / '-m' / '-X': 'GETT' is not one of 'get', 'head', 'post', 'put', 'patch', "
            "'delete', 'options'; `loadstone http --help` lists what it takes",
        ),
        ("history redis", "there is no run in runs; `loadstone run EXPERIMENT` makes one"),
        ("runs NOTHING", "NOTHING: there is no such folder; name one of runs, or none for ./runs"),
        (
            "history redis --runs NOTHING",
            "--runs NOTHING: there is no such folder; name one of runs, or none for ./runs",
        ),
        ("list a", "Got unexpected extra argument (a); `loadstone list --help` lists what it takes"),
        ("redis -d 1TB", "-d 1TB: a value has at most 64 MiB; write a smaller size"),
        (
            "redis -d 1PB",
            "-d 1PB: '1PB' is not a size; write for example `100 B`, `10 kB` (1000 bytes each), `1 KiB` (1024 bytes), "
            "`1 MiB`",
        ),
        (
            "run json-documents --server redis=redis://a:1 --server redis=redis://b:1",
            "--server redis=... is given twice; remove one of them",
        ),
        (
            "run --resume nowhere",
            "--resume nowhere: No such file or directory; `loadstone runs` lists the runs that there are",
        ),
        (
            "redis redis://a..b",
            "servers.redis.url: 'redis://a..b': a host has parts of 1 to 63 characters with dots between them; "
            "write redis://HOST:PORT",
        ),
        (
            "redis rediss://h --cacert nowhere.pem",
            "--cacert nowhere.pem: cannot be read; name a PEM file that you may read",
        ),
        (
            "run redis://localhost:6379 --quick",
            "redis://...: a server, and not an experiment; to load it: loadstone redis redis://localhost:6379",
        ),
        (
            "show https://me:hunter2@host/",
            "https://...: a server, and not an experiment; to load it: loadstone http URL",
        ),
        (
            "redis --json-out-file .",
            "--json-out-file .: is a folder; name a file",
        ),
        (
            "redis --json-out-file /dev/full",
            "--json-out-file /dev/full: is a device or a pipe, and no file; name a file",
        ),
        ("report latst", "latst: there is no such folder; did you mean 'latest'?"),
        (
            "run json-documents --server redis=localhost:6379",
            "--server redis=...: it begins with no scheme; write redis=redis://localhost:6379",
        ),
        (
            "run json-documents --server redis=me:hunter2@localhost:6379",
            "--server redis=...: it begins with no scheme; write redis=redis://HOST:PORT",
        ),
    ],
)
def test_a_slip_is_answered_by_what_to_write(command: str, error: str, tmp_path: Path) -> None:
    done = loadstone(*command.split(), folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"loadstone: {error}\n")


def test_where_a_shells_files_cannot_be_written_it_is_said_what_helps(tmp_path: Path) -> None:
    program = f"{sys.executable} -m loadstone"
    done = subprocess.run(
        ["bash", "-c", f"{program} --install-completion; exit $?"],
        env={**os.environ, "HOME": "/dev/null"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert re.fullmatch(
        r"loadstone: --install-completion: /dev/null\S*: [\w ]+; name a home that you may write to by "
        r"HOME, or print the text by --show-completion, and have your shell read it\n",
        done.stderr,
    )


@pytest.mark.parametrize("command", ["run", "redis", "http", "report", "init"])
def test_help_names_no_type_of_python(command: str, tmp_path: Path) -> None:
    assert names_no_type_of_python(command, tmp_path)


def names_no_type_of_python(command: str, folder: Path) -> bool:
    done = loadstone(*command.split(), "--help", folder=folder)
    assert done.returncode == 0
    return not re.search(r"<(str|path|int|float|list)\b", done.stdout, re.IGNORECASE)


@pytest.mark.fault("absurd names, numbers or values for any option")
def test_a_value_of_thousands_of_characters_is_shown_by_both_of_its_ends(tmp_path: Path) -> None:
    done = loadstone("run", "json-documents", "--blocks", "9" * 5000, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("not a number of blocks; write a number from 1 to 1000\n")
    assert len(done.stderr) < 600


@pytest.mark.fault("absurd names, numbers or values for any option")
@pytest.mark.parametrize("words", [["show", "a\udcff"], ["redis", "redis://\udcff"], ["run", "x", "--out", "\udcff/x"]])
def test_bytes_that_are_no_text_are_refused(words: list[str], tmp_path: Path) -> None:
    done = loadstone(*words, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "is not text in UTF-8" in done.stderr
    assert list(tmp_path.iterdir()) == []


def commands(command: Any, name: str = "loadstone") -> Iterator[tuple[str, Any]]:
    """Every command below this one, by the words that name it."""
    if not isinstance(command, TyperGroup):
        yield name, command
        return
    for word, inner in command.commands.items():
        yield from commands(inner, f"{name} {word}")


def test_an_option_stands_under_a_heading_where_others_do() -> None:
    astray = {}
    for name, command in commands(parser()):
        headings = {one.name: one.rich_help_panel for one in command.params if one.param_type_name == "option"}
        hidden = {one.name for one in command.params if getattr(one, "hidden", False)}
        without = {option for option, heading in headings.items() if heading is None} - hidden
        if any(headings.values()) and without:
            astray[name] = without
    assert astray == {}
