"""`loadstone gate`: which two versions are meant, by commands, git revisions and URLs."""

import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.calling import called, calling
from tests.said import Said

from loadstone.addons.gate import revisions as gate_revisions
from loadstone.addons.gate import services as gate_services
from loadstone.addons.gate.options import Versions
from loadstone.addons.gate.services import private_root
from loadstone.addons.gate.spec import Gate
from loadstone.machine.process_identity import started
from loadstone.machine.processes.workspace import Workspace
from loadstone.programs.manifest import read_manifest
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.known import redact

SERVE = "./serve --port {port}"


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Manifests outlive the command, so that its experiment can be looked at."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(Workspace, "remove", lambda _: None)


@pytest.mark.usefixtures("kept")
def test_a_gate_is_an_experiment_of_two_conditions(said: Callable[..., Said]) -> None:
    found = said("gate", "--base", SERVE, "--head", f"{SERVE} --fast", "--tolerance", "4 %", "--path", "/a")
    experiment = found.experiment
    assert [one.name for one in experiment.comparisons] == ["rate", "p99"]
    assert [one.margin for one in experiment.comparisons] == [0.04, 0.10]
    assert (experiment.part(Gate).base, experiment.part(Gate).head) == (SERVE, f"{SERVE} --fast")
    assert {one.subjects and next(iter(one.subjects)) for one in found.run_plan.trials} == {"base", "head"}
    assert {group.unit for group in found.run_plan.groups} == {"block"}, "each block is a start of both"


def test_what_a_build_takes_is_no_part_of_the_budget(said: Callable[..., Said], repository: Path) -> None:
    assert (repository / "app").is_dir()
    before = time.monotonic()
    build = ("--build", "sleep .2; cp version built", "--start", SERVE)
    found = said("gate", "--base", "HEAD~1", "--head", "HEAD", *build)
    assert found.options.began_s - before > 0.4
    assert found.options.typed, "nothing is asked about what was typed"


def test_at_a_rate_there_is_no_full_speed(said: Callable[..., Said]) -> None:
    found = said("gate", "--base-url", "http://127.0.0.1:1/x", "--head-url", "http://127.0.0.1:2/", "--rate", "2k")
    assert [(one.name, one.metric) for one in found.experiment.comparisons] == [("p99", "response_ns.p99")]
    assert {trial.plan.operations[0].requests[0].path for trial in found.run_plan.trials} == {"/x", "/"}


@pytest.mark.usefixtures("kept")
def test_what_takes_long_to_start_is_started_once_and_compared_by_rounds(said: Callable[..., Said]) -> None:
    found = said("gate", "--base", SERVE, "--head", "./x {port}", "--start-once")
    assert {group.unit for group in found.run_plan.groups} == {"round"}
    assert {group.rounds and group.rounds.processes for group in found.run_plan.groups} == {"once"}


@pytest.mark.usefixtures("kept")
def test_a_twin_is_a_start_of_its_own(said: Callable[..., Said]) -> None:
    found = said("gate", "--base", SERVE, "--head", "./x {port}", "--twin")
    needed = {str(sorted(trial.condition.items())): tuple(trial.subjects) for trial in found.run_plan.trials}
    assert sorted(needed.values()) == [("base",), ("base-twin",), ("head",)]
    assert [len(group.pairs) for group in found.run_plan.groups] == [2, 2]


def test_a_command_becomes_a_subject_in_the_users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with gate_services.services(Versions(base="A=1 B='x y' ./serve -p {port} 'a b'", head="./other", ready="/up")) as (
        base,
        head,
    ):
        manifest, folder = read_manifest(Path(base.settings["manifest"]))
        assert manifest.run.command == "./serve -p '{port}' 'a b'"
        assert manifest.environment == {"PORT": "{port}", "A": "1", "B": "x y"}
        assert (manifest.run.folder, manifest.run.ready) == (str(tmp_path), "/up")
        assert manifest.run.inherits == "all", "the command finds what it finds in the user's shell"
        assert head.name == "./other"
    assert not folder.exists()


@pytest.mark.usefixtures("kept")
def test_a_password_of_a_command_is_in_no_name(said: Callable[..., Said]) -> None:
    old, new = (f"./{name} --port {{port}} --db-password hunter-2 --token-file f" for name in ("old", "new"))
    found = said("gate", "--base", old, "--head", new)
    gate = found.experiment.part(Gate)
    assert gate is not None
    assert (gate.base, gate.head) == tuple(text.replace("hunter-2", "***") for text in (old, new))
    assert "hunter" not in redact(found.experiment.question)


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("option", ["--base", "--build", "--start"])
def test_a_password_in_the_words_of_a_shell_is_known_before_anything_is_shown(option: str) -> None:
    given = {"base": "x", "head": "y", option.removeprefix("--"): "sh -c 'exec ./s --password s3cr3tpass; true'"}
    with pytest.raises(UserError) as error, gate_services.services(Versions(**{**given, "ready_within_s": 1.0})):
        raise UserError("as any other")
    assert "s3cr3tpass" not in str(error.value)
    assert redact("it prints s3cr3tpass") == "it prints ***"


@pytest.mark.usefixtures("kept")
def test_no_name_shows_what_a_shell_is_given(said: Callable[..., Said]) -> None:
    old, new = (f"sh -c 'exec ./{name} --password s3cr3tpass --port {{port}}'" for name in ("old", "new"))
    gate = said("gate", "--base", old, "--head", new).experiment.part(Gate)
    assert gate is not None
    assert (gate.base, gate.head) == tuple(text.replace("s3cr3tpass", "***") for text in (old, new))


def test_two_urls_that_differ_behind_the_question_mark_have_two_names(said: Callable[..., Said]) -> None:
    urls = ("--base-url", "http://127.0.0.1:1/a?x=1", "--head-url", "http://127.0.0.1:1/a?x=2")
    gate = said("gate", *urls).experiment.part(Gate)
    assert (gate.base, gate.head) == ("127.0.0.1:1/a", "127.0.0.1:1/a (B)")
    with pytest.raises(UserError, match=r"--base-url: '\?x=1' has no meaning before other paths; write it into these"):
        said("gate", *urls, "--path", "/b")


@pytest.mark.parametrize("kind", [(), ("http",), ("redis",)])
def test_objectives_are_none_of_a_gate_whose_files_know_nothing_of_them(
    said: Callable[..., Said], kind: tuple[str, ...]
) -> None:
    with pytest.raises(UserError, match=r"^--fail-if: a gate is red by its tolerances; write --tolerance or"):
        said("gate", *kind, "--base", "a", "--head", "b", "--fail-if", "p99 > 5ms")


@pytest.mark.parametrize("odd", ["\U0001f600", "\x85\u2028\ufeff", "yes", "1:2", "# {x", "'\"\\", "a\tb\nc", "\u202e"])
def test_words_and_folders_reach_a_service_as_they_were_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    folder = tmp_path / odd
    folder.mkdir()
    monkeypatch.chdir(folder)
    quoted = shlex.quote(odd)
    with gate_services.services(Versions(base=f"A={quoted} ./serve {quoted.replace('{', '')}", head="./other")) as (
        base,
        _,
    ):
        manifest, _folder = read_manifest(Path(base.settings["manifest"]))
    assert shlex.split(manifest.run.command) == ["./serve", odd.replace("{", "")]
    assert manifest.environment["A"] == odd
    assert manifest.run.folder == str(folder)


def test_what_starts_differ_by_is_measured_taken_or_said(said: Callable[..., Said]) -> None:
    def differ(*words: str) -> float:
        return said("gate", *words).experiment.part(Gate).starts_differ

    urls = ("--base-url", "http://127.0.0.1:1/", "--head-url", "http://127.0.0.1:2/")
    assert [differ(*urls), differ(*urls, "--starts-differ", "2 %"), differ(*urls, "--starts-differ", "0 %")] == [
        0.1, 0.02, 0.0
    ]  # fmt: skip
    assert {differ(*urls, "--starts-differ", text) for text in ("0", "0.00 %", "0.000", "00", " 0% ", ".0")} == {0.0}
    for wrong in ("0%%", "0 % %", "-1 %", "nan", "."):
        with pytest.raises(UserError, match=r"^--starts-differ .*: no share; write for example"):
            differ(*urls, "--starts-differ", wrong)
    with pytest.raises(UserError, match=r"^--starts-differ: both start again for each block"):
        said("gate", "--base", "a", "--head", "b", "--starts-differ", "2 %")


@pytest.mark.parametrize(
    ("versions", "line"),
    [
        (Versions(), "--base, --head: which two versions? Write the commands that start them, with {port}, or URLs"),
        (Versions(base="a"), "--head: a gate compares two versions; add it"),
        (Versions(head_url="http://a"), "--base-url: a gate compares two versions; add it"),
        (Versions(base="a", head="a"), "--base, --head: both are 'a'; name two versions"),
        (Versions(base="a", head="b", base_url="http://a"), "--base, --base-url: leave one of them out"),
        (
            Versions(base="a", head="b", build="make"),
            "--build: builds git revisions; add --start CMD, which starts each",
        ),
        (
            Versions(base_url="http://a", head_url="http://b", ready="/"),
            "--ready: what is at a URL runs already; leave it out",
        ),
        (Versions(base="cd x && ./a", head="b"), "--base: 'cd' is for a shell, and there is none; write sh -c '...'"),
        (
            Versions(base="./a {prt}", head="b"),
            "--base: '{prt}' is not known; known are {port}, {host} and {folder}",
        ),
        (Versions(base="A=1", head="b"), "--base: starts nothing; write a command, as './server --port {port}'"),
        (
            Versions(base="a 'b", head="b"),
            "--base: is not a command line (no closing quotation); write it as a shell takes it",
        ),
        (
            Versions(base="a 'b", head="a 'b"),
            "--base: is not a command line (no closing quotation); write it as a shell takes it",
        ),
        (
            Versions(base="a", head="b", start="./s 'x"),
            "--start: is not a command line (no closing quotation); write it as a shell takes it",
        ),
        (
            Versions(base="./s --password s3cr3tpass", head="./s --password s3cr3tpass"),
            "--base, --head: both are './s --password ***'; name two versions",
        ),
    ],
)
def test_one_clear_line_says_what_is_wrong(versions: Versions, line: str) -> None:
    with pytest.raises(UserError) as error, gate_services.services(versions):
        pass
    assert str(error.value) == line


# Git revisions


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits of a file in a folder, and one of another branch."""
    folder = tmp_path / "repository"
    (folder / "app").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for text in ("old", "new"):
        (folder / "app" / "version").write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", text)
    monkeypatch.chdir(folder / "app")
    return folder


def revisions(base: str, head: str, build: str | None = "cp version built") -> Versions:
    return Versions(base=base, head=head, build=build, start="./serve {port}")


def folder_of(subject: gate_services.GateSubject) -> Path:
    manifest, _ = read_manifest(Path(subject.settings["manifest"]))
    return Path(str(manifest.run.folder))


@pytest.mark.parametrize(
    ("base", "head", "named"), [("main", "HEAD", "--base: 'main'"), ("./a", "HEAD", "--head: 'HEAD'")]
)
def test_revisions_without_a_start_are_named_as_such(repository: Path, base: str, head: str, named: str) -> None:
    assert repository.exists()
    with pytest.raises(UserError) as error, gate_services.services(Versions(base=base, head=head)):
        pass
    assert str(error.value) == f"{named} is a git revision, and no program; add --start CMD, which starts each version"


def test_a_word_that_is_neither_program_nor_revision_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with (
        pytest.raises(UserError, match=r"^--base: no program is called 'main'; .* add --start CMD$"),
        gate_services.services(Versions(base="main", head="HEAD")),
    ):
        pass


def test_both_revisions_are_built_beside_the_users_tree(repository: Path) -> None:
    (repository / "app" / "version").write_text("changed")
    before = git(repository, "status", "--porcelain", "--ignored")
    with gate_services.services(revisions("HEAD~1", ".")) as (base, head):
        folders = [folder_of(one) for one in (base, head)]
        assert [(folder / "built").read_text() for folder in folders] == ["old", "changed"]
        assert base.name.startswith("HEAD~1 (")
        assert head.name == "the tree as it stands"
        assert len(git(repository, "worktree", "list").splitlines()) == 2
    assert not any(folder.exists() for folder in folders)
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert git(repository, "status", "--porcelain", "--ignored") == before


def test_a_branch_that_is_called_like_an_option_runs_nothing(repository: Path) -> None:
    with (
        pytest.raises(UserError, match="git knows no such revision"),
        gate_services.services(revisions("--output=x", "HEAD")),
    ):
        pass
    assert not (repository / "app" / "x").exists()


@pytest.mark.parametrize(
    ("base", "head", "line"),
    [
        ("main", "HEAD", "name two versions"),
        ("nowhere", "HEAD", "--base nowhere: git knows no such revision"),
    ],
)
def test_revisions_must_be_two_that_git_knows(repository: Path, base: str, head: str, line: str) -> None:
    del repository
    with pytest.raises(UserError, match=line), gate_services.services(revisions(base, head)):
        pass


def test_a_folder_that_is_no_clone_is_named_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    versions = Versions(base="main", head="HEAD", start=SERVE)
    with (
        pytest.raises(UserError, match=r"--start: .* in no git repository; begin in your clone"),
        gate_services.services(versions),
    ):
        pass


def test_a_changed_tree_is_not_taken_for_its_commit(repository: Path) -> None:
    (repository / "app" / "version").write_text("changed")
    line = r"HEAD: the tree holds changes .* of app/version; .*--head \."
    with pytest.raises(UserError, match=line), gate_services.services(revisions("HEAD~1", "HEAD")):
        pass


def test_a_build_that_fails_shows_its_last_lines_and_leaves_nothing(repository: Path) -> None:
    build = "echo compiling; echo 'main.c:1: error: no' >&2; exit 3"
    with pytest.raises(UserError) as error, gate_services.services(revisions("HEAD~1", "HEAD", build)):
        pass
    assert "--build: HEAD~1 does not build: compiling | main.c:1: error: no; its log is " in str(error.value)
    log = Path(str(error.value).rpartition("its log is ")[2])
    assert "main.c:1: error: no" in log.read_text()
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_what_a_job_leaves_about_is_no_change(repository: Path) -> None:
    (repository / "cache").mkdir()
    (repository / "cache" / "x").write_text("")
    with gate_services.services(revisions("HEAD~1", "HEAD", "true")):
        pass
    with gate_services.services(revisions("HEAD~1", ".", "true")) as (_, head):
        assert (folder_of(head).parent / "cache" / "x").exists()


def test_a_folder_that_became_a_link_is_copied_as_a_link(repository: Path) -> None:
    (repository / "lib").mkdir()
    (repository / "lib" / "one").write_text("1")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "lib")
    elsewhere = repository.parent / "elsewhere"
    (repository / "lib").rename(elsewhere)
    (repository / "lib").symlink_to("../elsewhere")
    with gate_services.services(revisions("HEAD~1", ".", "true")) as (base, head):
        assert folder_of(base).is_dir()
        tree = folder_of(head).parent
        assert (tree / "lib").is_symlink()
        assert not (tree.parent / "elsewhere").exists(), "written through the link"


def test_worktrees_that_are_missing_now_stay_the_users(repository: Path) -> None:
    """As one on a disk that is not mounted; that of a gate that was killed is forgotten."""
    unmounted, killed = repository.parent / "unmounted", repository.parent / "loadstone-gate-0" / "base-tree"
    for place in (unmounted, killed):
        git(repository, "worktree", "add", "-q", "--detach", str(place))
    shutil.rmtree(unmounted)
    shutil.rmtree(killed.parent)
    with gate_services.services(revisions("HEAD~1", "HEAD", "true")):
        pass
    known = git(repository, "worktree", "list", "--porcelain")
    assert str(unmounted) in known
    assert str(killed) not in known


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody adopts what a process leaves")
def test_what_a_build_leaves_running_ends_with_it(repository: Path) -> None:
    del repository
    with gate_services.services(revisions("HEAD~1", "HEAD", "setsid sleep 600 & echo $! > built")) as sides:
        pids = [int((folder_of(side) / "built").read_text()) for side in sides]
        assert [pid for pid in pids if started(pid) is not None] == []


def test_what_is_built_may_be_read_by_whom_the_user_lets(repository: Path) -> None:
    del repository
    before = os.umask(0o022)
    try:
        with gate_services.services(revisions("HEAD~1", "HEAD", "echo > built")) as (base, _):
            assert stat.S_IMODE((folder_of(base) / "built").stat().st_mode) == 0o644
    finally:
        os.umask(before)


def test_no_secret_of_the_job_is_in_the_line_or_the_log_of_a_build(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del repository
    monkeypatch.setenv("DEPLOY_TOKEN", "s3cretOfTheJob9")
    with (
        pytest.raises(UserError) as error,
        gate_services.services(revisions("HEAD~1", "HEAD", "echo got $DEPLOY_TOKEN; exit 1")),
    ):
        pass
    log = Path(str(error.value).rpartition("its log is ")[2])
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    for text in (str(error.value), log.read_text()):
        assert "s3cret" not in text
        assert "got ${env:DEPLOY_TOKEN}" in text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_gate_that_is_ended_while_it_builds_leaves_nothing(repository: Path, number: int, tmp_path: Path) -> None:
    """After SIGKILL what was built ends at once, and the next gate removes the folder and the tree."""
    made = tmp_path / "made"
    made.mkdir()
    words = ("gate", "--base", "HEAD~1", "--head", "HEAD", "--start", SERVE, "--build")
    build = f"echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; sleep 600"
    with calling(*words, build, folder=repository, environment={"TMPDIR": str(made)}) as gate:
        await_true((tmp_path / "pid").exists)
        gate.send_signal(number)
        said = gate.communicate(timeout=30)[1]
        assert gate.returncode == (-number if number == signal.SIGKILL else 130)
        assert said.endswith("loadstone: interrupted\n") or number == signal.SIGKILL
    pid = int((tmp_path / "pid").read_text())
    await_true(lambda: started(pid) is None)
    if number == signal.SIGKILL:
        called(*words, "false", folder=repository, environment={"TMPDIR": str(made)})
    assert [path.name for path in made.iterdir()] == []
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def await_true(holds: Callable[[], bool], within_s: float = 30.0) -> None:
    until = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")
def test_a_clone_of_another_user_is_named_with_what_helps(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    for path in (repository, repository / ".git"):
        os.chown(path, 65534, 65534)
    with (
        pytest.raises(UserError, match=r"dubious ownership .* git config --global --add safe\.directory") as error,
        gate_services.services(revisions("HEAD~1", "HEAD")),
    ):
        pass
    assert "\n" not in str(error.value)


def test_a_git_that_waits_for_something_is_named_as_that(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a login: it gets no terminal, and an end."""
    asking = repository.parent / "asking"
    git(repository, "config", "filter.asks.smudge", f"echo $$ > {asking}; sleep 600")
    (repository / ".gitattributes").write_text("* filter=asks\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "filtered")

    def asks() -> bool:
        return asking.exists() and asking.read_text().endswith("\n")

    class Git(subprocess.Popen[str]):
        """Its time begins when it waits, however long a busy machine takes to get there."""

        def communicate(self, input: str | None = None, timeout: float | None = None) -> tuple[str, str]:
            await_true(lambda: asks() or self.poll() is not None)
            return super().communicate(input, timeout if asks() else None)

    monkeypatch.setattr(subprocess, "Popen", Git)
    monkeypatch.setattr(gate_revisions, "GIT_LONGEST_S", 0.5)
    with (
        pytest.raises(UserError, match=r"git worktree: not done within 0.5 s; run it yourself"),
        gate_services.services(revisions("HEAD~1", "HEAD")),
    ):
        pass
    await_true(lambda: started(int(asking.read_text())) is None)


@pytest.mark.fault(
    "another user puts settings of build tools into /tmp", "no build of a gate finds them", area="foreign"
)
def test_no_tree_is_built_below_a_folder_that_all_users_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cargo, Maven, Go and others read settings, and run what these name, from all folders above a tree."""
    shared, home = tmp_path / "shared", tmp_path / "home"
    shared.mkdir()
    home.mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    assert private_root(tmp_path) is None, "a temporary folder of one user is used as it is"
    shared.chmod(0o1777)
    (shared / "build.settings").write_text("theirs")
    found = private_root(tmp_path)
    assert found is not None
    assert found.is_relative_to(home)
    assert found.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(gate_services, "private_root", lambda: private_root(tmp_path))
    look = 'while [ "$PWD" != / ]; do if [ -e build.settings ]; then exit 3; fi; cd ..; done'
    git_folder = tmp_path / "home" / "repository"
    git_folder.mkdir()
    git(git_folder, "init", "-q", "-b", "main")
    for text in ("old", "new"):
        (git_folder / "version").write_text(text)
        git(git_folder, "add", ".")
        git(git_folder, "commit", "-q", "-m", text)
    monkeypatch.chdir(git_folder)
    with gate_services.services(revisions("HEAD~1", "HEAD", look)) as (base, _):
        assert folder_of(base).is_relative_to(home)
    assert not list(found.iterdir())


@pytest.mark.fault("a branch's build writes the files of the verdict itself", "they do not stay", area="foreign")
def test_a_build_that_fails_leaves_no_verdict_of_its_own(repository: Path, tmp_path: Path) -> None:
    summary, result = tmp_path / "gate.md", tmp_path / "gate.json"
    summary.write_text("before\n")
    forge = f"echo '### same' >> {summary}; echo '{{\"verdict\": \"same\"}}' > {result}; exit 3"
    words = ("--base", "HEAD~1", "--head", "HEAD", "--build", forge, "--start", SERVE)
    done = called("gate", *words, "--summary", summary, "--result", result, folder=repository / "app")
    assert done.returncode == UserError.exit_status
    assert summary.read_text() == "before\n"
    assert not result.exists()
