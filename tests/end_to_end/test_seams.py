"""What stands around a run is hostile or broken: the disk, the streams, a server, the words of an experiment."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.calling import called
from tests.end_to_end.conftest import CALM, PATIENCE_S, Done, Lab

HOSTILE = "Is it \\e[31mred\\e]52;c;AAAA\\a and \\u202eback\\u009b2J?"
OBEYED = set("\x1b\x07\r\u202e\x9b\x00")
ONE = ("--only", "operation=set", "--only", "workers=1")
SPACE_BLOCKS = 110
"""Of 512 bytes: every file of a run fits but its page."""


def shell(lab: Lab, command: str, *arguments: object) -> Done:
    """`loadstone arguments...` by a command line of the shell, in which it is "$@"."""
    done = subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, "-m", "loadstone.cli.main", *map(str, arguments)],
        cwd=lab.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def deserved(lab: Lab) -> int:
    """The status that the data of the only run deserve: a busy machine makes trials invalid."""
    analysis = json.loads((lab.run() / "analysis.json").read_text())
    rows = [row["verdict"] for table in analysis["tables"] for row in table["rows"]]
    return 3 if "invalid" in rows or set(rows) == {"missing"} else 0


@pytest.mark.fault(
    "the disk is full at the report", "the result is printed, status 2; `loadstone report` writes it later", area="disk"
)
def test_a_full_disk_at_the_report_hides_no_result(lab: Lab) -> None:
    full = f'ulimit -f {SPACE_BLOCKS}; exec "$@"'
    done = shell(lab, full, "run", lab.experiment(calm=CALM), "--only", "operation=set", "--json")
    assert done.status == (deserved(lab) or 2), done.err
    assert "Took " in done.err, "the result stands on the terminal"
    assert json.loads(done.out)["trials_done"] == 2
    assert "the report is not written: cannot write" in done.error_line
    assert f"loadstone report runs/{lab.run().name}" in done.error_line
    assert not (lab.run() / "report.html").exists()
    assert [path.name for path in lab.run().rglob(".*")] == [], "nothing half-written is left"
    again = lab.loadstone("report", lab.run())
    assert again.status == 0
    assert (lab.run() / "report.html").is_file()
    refused = shell(lab, full, "report", lab.run(), "--format", "html")
    assert refused.status == 2
    assert "Does the whole way work?" in refused.out
    assert (lab.run() / "report.html").is_file(), "the earlier one stays as it was"


@pytest.mark.fault("stderr is closed, full or without reader", "the run goes on with its status", area="input")
@pytest.mark.parametrize("closed", [pytest.param("2>&-", marks=pytest.mark.prove), ">&- 2>&-"])
def test_a_run_without_stderr_has_the_status_that_its_data_deserve(lab: Lab, closed: str) -> None:
    done = shell(lab, f'exec "$@" {closed}', "run", lab.experiment(calm=CALM), *ONE)
    assert done.status == deserved(lab)
    assert (lab.run() / "report.html").is_file()
    assert ("Does the whole way work?" in done.out) == (">&- 2" not in closed)
    for path in lab.run().rglob("*.jsonl"):
        assert all(json.loads(line) for line in path.read_text().splitlines()), "nobody else wrote into it"


@pytest.mark.fault("stderr is closed, full or without reader")
def test_a_run_whose_stderr_is_full_has_the_status_that_its_data_deserve(lab: Lab) -> None:
    with Path("/dev/full").open("w") as full:
        done = called("run", lab.experiment(calm=CALM), *ONE, folder=lab.folder, stderr=full.fileno(), draws=False)
    assert done.returncode == deserved(lab)
    assert (lab.run() / "report.html").is_file()
    assert "Does the whole way work?" in done.stdout


@pytest.mark.fault("stderr is closed, full or without reader")
def test_a_reader_of_the_progress_that_goes_away_ends_nothing(lab: Lab) -> None:
    command = lab.begin("run", lab.experiment(calm=CALM), "--only", "operation=set", "--only", "workers=1", "--verbose")
    assert command.process.stderr is not None
    command.process.stderr.close()
    assert command.process.stdout is not None
    with command.process.stdout as stdout:
        out = stdout.read()
    assert command.process.wait(PATIENCE_S) == deserved(lab)
    assert "Does the whole way work?" in out


@pytest.mark.fault("terminal escapes, blanks or look-alike letters in names and replies", "escaped", area="input")
def test_errors_and_questions_hold_nothing_that_a_terminal_obeys(lab: Lab) -> None:
    path = lab.experiment(question=f'question: Does the whole way work? => question: "{HOSTILE}"', calm=CALM)
    run = lab.loadstone("run", path, "--only", "operation=set", "--only", "workers=1")
    said = [run, *(lab.loadstone(*words) for words in (("show", path), ("report", "latest"), ("runs",)))]
    said.append(lab.loadstone("report", "latest", "--json"))
    assert "AAAA" in run.out
    assert json.loads(said[-1].out)["question"].startswith("Is it \x1b[31mred")
    for words in (
        ("run", "x\x1b]52;c;AAAA\x07\u202e.yaml"),
        ("run", path, "--only", "operation=\x1b[31m"),
        ("run", path, "--server", "a b\x1b[31m=redis://127.0.0.1:1"),
        ("run", path, "--set", "workload.\x1b[31m=1"),
        ("r\x1b[31m\rn",),
        ("run", "--\x1b[31m"),
        ("report", "\x1b[31m"),
        ("compare", "\x1b[31m", "\x1b[32m"),
    ):
        said.append(lab.loadstone(*words))
        assert said[-1].status == 2
        assert len(said[-1].err.splitlines()) == 1
    for done in said:
        assert not OBEYED & set(done.out + done.err)


@pytest.fixture
def rogue() -> Iterator[int]:
    """The port of a server that is friendly until it is queried who it is."""
    listener = socket.create_server(("127.0.0.1", 0))
    answers = {b"PING": b"+PONG\r\n", b"SET": b"+OK\r\n", b"UNLINK": b":1\r\n"}

    def speak(connection: socket.socket) -> None:
        with connection:
            while received := connection.recv(4096):
                name = received.split(b"\r\n")[2]
                connection.sendall(answers.get(name, b"*1\r\n" * 100_000 + b":" + b"9" * 5000 + b"\r\n"))

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=speak, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.mark.fault("malformed replies on a control connection")
def test_a_server_that_answers_nonsense_is_named_in_one_line(lab: Lab, rogue: int) -> None:
    done = lab.loadstone("run", lab.experiment(calm=CALM), "--server", f"redis=redis://127.0.0.1:{rogue}")
    assert done.status == 2
    assert f"server 127.0.0.1:{rogue}: " in done.error_line
    assert "it answered lists in lists without end" in done.error_line
    assert lab.runs() == []


@pytest.mark.fault("a defect of loadstone")
def test_a_defect_is_70_and_leaves_its_traceback_in_a_file(lab: Lab) -> None:
    broken = lab.folder / "sitecustomize.py"
    broken.write_text("from loadstone.experiment.spec import built_in\nbuilt_in.questions = lambda: 1 / 0\n")
    done = lab.loadstone("list", PYTHONPATH=f"{lab.folder}:{':'.join(sys.path)}")
    assert done.status == 70
    assert "a defect of loadstone: ZeroDivisionError" in done.error_line
    (file,) = lab.temporary.glob("defect-*.txt")
    assert str(file) in done.error_line
    assert "ZeroDivisionError" in file.read_text()
    file.unlink()
