"""`loadstone gate`: which two versions are meant, by commands, git revisions and URLs."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.commands.conftest import Said

from loadstone.commands import gate_services
from loadstone.commands.gate_options import Versions
from loadstone.deploy.subjects.manifest import read_manifest
from loadstone.errors import UserError

SERVE = "./serve --port {port}"


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Manifests outlive the command, so that its experiment can be looked at."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(gate_services.shutil, "rmtree", lambda *_, **__: None)


@pytest.mark.usefixtures("kept")
def test_a_gate_is_an_experiment_of_two_conditions(said: Callable[..., Said]) -> None:
    found = said("gate", "--base", SERVE, "--head", f"{SERVE} --fast", "--tolerance", "4 %", "--path", "/a")
    experiment = found.experiment
    assert [one.name for one in experiment.comparisons] == ["rate", "p99"]
    assert [one.margin for one in experiment.comparisons] == [0.04, 0.10]
    assert (experiment.gate.base, experiment.gate.head) == (SERVE, f"{SERVE} --fast")
    assert {one.subjects and next(iter(one.subjects)) for one in found.run_plan.trials} == {"base", "head"}
    assert {group.unit for group in found.run_plan.groups} == {"block"}, "each block is a start of both"


def test_what_a_build_takes_is_no_part_of_the_budget(said: Callable[..., Said], repository: Path) -> None:
    assert (repository / "app").is_dir()
    before = time.monotonic()
    build = ("--build", "sleep .2; cp version built", "--start", SERVE)
    found = said("gate", "--base", "HEAD~1", "--head", "HEAD", *build)
    assert found.options.began_s - before > 0.4


def test_at_a_rate_there_is_no_full_speed(said: Callable[..., Said]) -> None:
    found = said("gate", "--base-url", "http://127.0.0.1:1/x", "--head-url", "http://127.0.0.1:2/", "--rate", "2k")
    assert [(one.name, one.metric) for one in found.experiment.comparisons] == [("p99", "response_ns.p99")]
    assert found.run_plan.trials[0].plan.operations[0].requests[0].path == "/x"


@pytest.mark.usefixtures("kept")
def test_what_takes_long_to_start_is_started_once_and_compared_by_rounds(said: Callable[..., Said]) -> None:
    found = said("gate", "--base", SERVE, "--head", "x {port}", "--start-once")
    assert {group.unit for group in found.run_plan.groups} == {"round"}
    assert {group.rounds and group.rounds.processes for group in found.run_plan.groups} == {"once"}


@pytest.mark.usefixtures("kept")
def test_a_twin_is_a_start_of_its_own(said: Callable[..., Said]) -> None:
    found = said("gate", "--base", SERVE, "--head", "x {port}", "--twin")
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
        assert head.name == "./other"
    assert not folder.exists()


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
        (Versions(base="a 'b", head="b"), "--base: 'a 'b' is not a command line (no closing quotation)"),
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


def folder_of(subject: gate_services.Subject) -> Path:
    manifest, _ = read_manifest(Path(subject.settings["manifest"]))
    return Path(str(manifest.run.folder))


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
