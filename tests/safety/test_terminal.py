"""All text passes one place on its way to the terminal, which obeys nothing in it."""

import ast
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.live import Live
from rich.table import Table
from rich.text import Text

from loadstone.safety import console, terminal
from loadstone.safety.secrets import known

HOSTILE = "a\x1b[31mb\x1b]52;c;AAAA\x07c\rd\u202ee\x9b2Jf\x00g\u2066h"
OBEYED = set("\x1b\x07\r\u202e\x9b\x00\u2066")
PACKAGE = Path(__file__).parents[2] / "python" / "loadstone"
WRITERS = {"safety/terminal.py"}
PROGRAMS = {
    "drivers/engine_program.py",
    "machine/processes/guard.py",
    "servers/containers/container_guard.py",
    "addons/fleet/engine_process.py",
    "report/charts/renderer_program.py",
}
"""Programs of their own: their stdout is a pipe to loadstone, or the log of what they run."""


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """stdout and stderr, in one."""
    stream = Terminal()
    monkeypatch.setattr(terminal, "sys", SimpleNamespace(stdout=stream, stderr=stream))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return stream


def test_what_a_terminal_obeys_becomes_a_space_and_our_layout_stays() -> None:
    assert terminal.visible(HOSTILE) == "a [31mb ]52;c;AAAA c d e 2Jf g h"
    assert terminal.visible("a\tb\nc é 한") == "a\tb\nc é 한"
    assert terminal.visible("half \ud800") == "half  "


@pytest.mark.fault("terminal escapes, blanks or look-alike letters in names and replies")
@pytest.mark.parametrize("write", [terminal.result, terminal.remark])
def test_results_and_remarks_hold_nothing_that_it_obeys(write: object, screen: Terminal) -> None:
    write(HOSTILE)  # type: ignore[operator]
    assert screen.getvalue().startswith("a [31mb")
    assert not OBEYED & set(screen.getvalue())


def test_json_holds_the_same_data_escaped(screen: Terminal) -> None:
    terminal.result_json(json.dumps({"question": HOSTILE, "한": "é"}, ensure_ascii=False))
    assert not OBEYED & set(screen.getvalue())
    assert json.loads(screen.getvalue()) == {"question": HOSTILE, "한": "é"}
    assert "한" in screen.getvalue()


def test_a_console_obeys_its_own_colours_alone(screen: Terminal) -> None:
    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(HOSTILE)
    results = console.results()
    results.print(HOSTILE, markup=False)
    results.print(Text(HOSTILE, style="bold"))
    results.print(table)
    with Live(console=console.remarks(), auto_refresh=False, transient=True) as live:
        live.update(Text(HOSTILE), refresh=True)
    said = screen.getvalue()
    assert "\x1b[1m" in said, "our own style is there"
    assert "\x1b[31m" not in said
    assert "\x1b]52" not in said
    assert not (OBEYED - {"\x1b", "\r"}) & set(said)


MARKUP = "[/x] [link=http://outside.example]a[/link] [red]b[/red] :smile:"


@pytest.mark.fault(
    "a level or a section's text in the markup of rich (`[/x]`, `[link=...]`)", "shown as it is", area="foreign"
)
def test_what_looks_like_markup_is_shown_as_it_is(screen: Terminal) -> None:
    for one in (console.results(), console.remarks()):
        table = Table(title="t", box=None)
        table.add_column(MARKUP, no_wrap=True)
        table.add_row(MARKUP)
        one.print(table)
        one.print(MARKUP)
    assert screen.getvalue().count(MARKUP) == 6
    assert "\x1b]8" not in screen.getvalue()


def test_what_is_secret_is_hidden_on_every_way(screen: Terminal) -> None:
    known.learn("hunter2")
    table = Table(title="t")
    table.add_column("c")
    table.add_row("hunter2")
    terminal.result("hunter2\n")
    terminal.remark("hunter2")
    terminal.result_json('{"é": "hunter2"}')
    terminal.result_json('{"e": "hunter2"}')
    for one in (console.results(), console.remarks()):
        one.print(Text("hunter2"), table)
    assert "hunter2" not in screen.getvalue()
    assert screen.getvalue().count("***") == 8


WAYS = ("print", "echo", "secho", "Console", "warn", "write", "buffer", "std")
"""Each other way has one of them."""


STREAMS = (
    *("sys.stdout.write", "sys.stderr.write", "sys.stdout.buffer", "sys.stderr.buffer"),
    *("sys.__stdout__", "sys.__stderr__", "sys.stdout.writelines", "sys.stderr.writelines"),
)
STREAMS_END = {name.rsplit(".", 1)[1] for name in STREAMS}


def _writes(path: Path) -> list[str]:
    """What of a file writes to stdout or stderr by another way."""
    found = []
    text = path.read_text()
    if not any(word in text for word in WAYS):
        return []  # to parse the package takes seconds
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = ast.unparse(node.func)
            if name in ("print", "typer.echo", "typer.secho", "click.echo", "Console", "rich.print", "warnings.warn"):
                found.append(f"{path.name}:{node.lineno}: {name}")
            if name in ("os.write",) and ast.unparse(node.args[0]) in ("1", "2"):
                found.append(f"{path.name}:{node.lineno}: {name}")
        if isinstance(node, ast.Attribute) and node.attr in STREAMS_END and ast.unparse(node) in STREAMS:
            found.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    return found


def test_no_one_else_writes_to_the_terminal() -> None:
    files = {str(path.relative_to(PACKAGE)): path for path in PACKAGE.rglob("*.py")}
    found = [line for name, path in files.items() if name not in WRITERS | PROGRAMS for line in _writes(path)]
    assert found == []


def test_the_test_sees_other_ways(tmp_path: Path) -> None:
    for number, line in enumerate(("print(1)", "sys.stderr.write('x')", "typer.echo('x')", "Console(stderr=True)")):
        (tmp_path / f"{number}.py").write_text(f"{line}\n")
        assert len(_writes(tmp_path / f"{number}.py")) == 1


SCRIPT = """
import os, sys
from loadstone.safety import terminal
from loadstone.safety.secrets import known as known_secrets
terminal.prepare()
terminal.remark("a remark")
held = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
terminal.result("a result\\n")
terminal.remark("é and more")
os.write(held, b"of the run")
assert held > 2, "a file of ours has the number of a closed stream"
terminal.finish()
sys.exit(7)
"""


@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full", "2>&- <&-"])
def test_a_closed_stream_is_no_failure_and_no_file_gets_its_number(closed: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    command = f'"$1" -c "$2" "$3" {closed}'
    done = subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, SCRIPT, str(file)], capture_output=True, check=False, env=os.environ
    )
    assert done.returncode == 7, done.stderr
    assert file.read_text() == "of the run"
    if ">&-" not in closed.replace("2>&-", ""):
        assert done.stdout == b"a result\n"


def test_results_that_cannot_be_written_are_an_error() -> None:
    script = SCRIPT.replace("sys.argv[1]", "os.devnull")
    done = subprocess.run(
        ["sh", "-c", '"$1" -c "$2" >/dev/full', "sh", sys.executable, script], capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr


def test_a_stream_of_ascii_takes_every_text() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", SCRIPT, os.devnull], capture_output=True, check=False, env=environment)
    assert done.returncode == 7
    assert b"? and more" in done.stderr


@pytest.mark.fault("terminal escapes, blanks or look-alike letters in names and replies")
@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("/bin/\u3164x\u2800\ufe0f\U000e0100", r"/bin/\u3164x\u2800\ufe0f\U000e0100"),
        ("http://g\u043e\u043egle.example", r"http://g\u043e\u043egle.example"),
        ("\u0441\u043e\u0441\u043e.example", r"\u0441\u043e\u0441\u043e.example"),
        ("\uff52edis\uff0f\u2215a\u2024b", r"\uff52edis\uff0f\u2215a\u2024b"),
        ("/home/\u0438\u0432\u0430\u043d/\ubd80\ud558/d\u00e9j\u00e0.yaml", None),
    ],
)
def test_names_show_what_is_not_seen_and_letters_that_pass_for_others(written: str, shown: str | None) -> None:
    assert terminal.printable(written) == (written if shown is None else shown)
