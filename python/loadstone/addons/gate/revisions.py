"""Two git revisions of a service: each in a worktree of its own beneath a temporary folder, built, removed at the end.

The user's own tree is only read. `.` means the tree as it stands, with what is not committed: its files are copied.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from loadstone.addons.gate.options import Versions
from loadstone.addons.gate.spec import BASE, HEAD
from loadstone.machine.processes.guarded_process import GuardedProcess, ProcessEnvironment, workspace_of
from loadstone.run_folder.earlier_runs import RUNS
from loadstone.run_folder.folder import make_root
from loadstone.safety import terminal
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.known import redact
from loadstone.safety.secrets.references import variables
from loadstone.text.message import AnyText, said

AS_IT_STANDS, TREE = ".", "-tree"
BUILD_LONGEST_S, BUILD_POLL_S, GIT_LONGEST_S = 900.0, 0.05, 600.0
LINES, LINES_BYTES = 6, 4_000
GIT_LINES = 4
"""Lines that are shown of what git prints where it refuses: a clone of another user's takes so many to say."""
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false")
"""No program of the repository's runs for what is only looked at."""

_REMOVE = ("worktree", "remove", "--force", "--force")
"""Twice: one that was interrupted while it was made is locked."""


@dataclass(frozen=True)
class Revision:
    """One version, built."""

    name: str
    """As it was requested, with its commit: `main (1a2b3c4)`."""
    folder: Path
    """The folder that the command was given in, in this version."""


@contextmanager
def revisions(versions: Versions, folder: Path) -> Iterator[tuple[Revision, Revision]]:
    """Both revisions, built. Raises UserError."""
    top = _top()
    below = Path.cwd().resolve().relative_to(top.resolve())
    names = (versions.base or "", versions.head or "")
    commits = [_commit(top, name, option) for name, option in zip(names, ("--base", "--head"), strict=True)]
    _require_meant(top, names, commits)
    with ExitStack() as held:
        built = []
        for side, name, commit in zip((BASE, HEAD), names, commits, strict=True):
            place = folder / f"{side}{TREE}"
            held.enter_context(_tree(top, place, commit))
            at = place / below
            if not at.is_dir():
                raise UserError("{name}: has no folder {below}; begin in one that both have", name=name, below=below)
            if versions.build is not None:
                _build(versions.build, at, name, folder, side)
            built.append(Revision(_shown(name, commit), at))
        yield built[0], built[1]


def _top() -> Path:
    """The top folder of the user's clone. Raises UserError."""
    try:
        return Path(_git(Path.cwd(), "rev-parse", "--show-toplevel").strip())
    except UserError as error:
        if "not a git repository" not in str(error):
            raise
        raise UserError(
            "--start: starts git revisions, and this folder is in no git repository; begin in your clone"
        ) from None


def _require_meant(top: Path, names: Sequence[str], commits: Sequence[str | None]) -> None:
    """Raises UserError where both are the same, or one is not what the user sees before them."""
    if commits[0] == commits[1]:
        raise UserError(
            "--base {base}, --head {head}: both are {commit}; name two versions",
            base=names[0],
            head=names[1],
            commit="." if commits[0] is None else commits[0][:10],
        )
    here = _git(top, "rev-parse", "HEAD").strip()
    changed = _git(top, "status", "--porcelain", "--untracked-files=no").splitlines()  # what jobs leave is no change
    if here in commits and None not in commits and changed:
        name = names[commits.index(here)]
        raise UserError(
            "{name}: the tree holds changes that are not committed, of {file}; commit them, or measure the tree as "
            "it stands: --head .",
            name=name,
            file=redact(changed[0][3:]),
        )


def _commit(top: Path, name: str, option: str) -> str | None:
    """The commit of a revision; None of the tree as it stands. Raises UserError."""
    if name == AS_IT_STANDS:
        return None
    try:
        return _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip()
    except UserError:
        raise UserError(
            "{option} {name}: git knows no such revision; name a branch, a tag or a commit (a shallow clone lacks "
            "older ones: git fetch --unshallow), or . for the tree as it stands",
            option=option,
            name=name,
        ) from None


def _shown(name: str, commit: str | None) -> str:
    if commit is None:
        return str(said("the tree as it stands"))
    return name if commit.startswith(name) else f"{name} ({commit[:7]})"


@contextmanager
def _tree(top: Path, place: Path, commit: str | None) -> Iterator[None]:
    """The files of a version at a place of their own."""
    if commit is None:
        _copy(top, place)
        yield
        return
    _forget_killed(top, place.parent)
    try:
        _git(top, "worktree", "add", "--detach", "--quiet", str(place), commit)
        yield
    finally:
        shutil.rmtree(place, ignore_errors=True)
        with _ignoring():
            _git(top, *_REMOVE, str(place))


@contextmanager
def _ignoring() -> Iterator[None]:
    try:
        yield
    except UserError as error:
        terminal.remark(error.message)


def _forget_killed(top: Path, folder: Path) -> None:
    """Have git forget the trees of gates that were killed; those of others that are missing now stay known to it.

    `folder`: that of this gate.
    """
    named = folder.name.rpartition("-")[0]
    for line in _git(top, "worktree", "list", "--porcelain").splitlines():
        tree = Path(line.removeprefix("worktree "))
        ours = line.startswith("worktree ") and tree.name.endswith(TREE) and tree.parent.name.startswith(named)
        if ours and not tree.parent.exists():
            with _ignoring():
                _git(top, *_REMOVE, str(tree))


def _copy(top: Path, place: Path) -> None:
    """What git would take of the tree as it stands: nothing that it ignores. Raises UserError."""

    @cache
    def is_own(folder: PurePosixPath) -> bool:
        """Whether no link leads to it: what lies behind one is none of this tree."""
        return folder == PurePosixPath() or (not (top / folder).is_symlink() and is_own(folder.parent))

    listed = _git(top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in dict.fromkeys(filter(None, listed.split("\0"))):
        source, target = top / name, place / name
        if not (is_own(PurePosixPath(name).parent) and (source.is_file() or source.is_symlink())):
            continue
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
        except OSError as error:
            raise UserError(
                "the tree as it stands: {name} cannot be copied to {place} ({error}); allow it to be read, free "
                "some room, or set TMPDIR",
                name=redact(name),
                place=place,
                error=error.strerror,
            ) from None


def _build(command: str, at: Path, name: str, folder: Path, side: str) -> None:
    """Run the user's build in a shell, under a guard: all that it started ends with it. Raises UserError."""
    terminal.remark(said("building {name}", name=name))
    log = folder / f"{side}-build.log"
    mask = os.umask(0o077)
    os.umask(mask)
    process = GuardedProcess(
        ["sh", "-c", f"umask {mask:03o}; {command}"],  # the guard has one that shuts others out
        workspace_of("--build", "build", folder),
        log,
        surroundings=ProcessEnvironment(folder=at, inherited=os.environ.keys() - variables()),
    )
    try:
        process.start()
        until = time.monotonic() + BUILD_LONGEST_S
        while process.alive() and time.monotonic() < until:
            time.sleep(BUILD_POLL_S)
        ended = not process.alive()
    except OSError as error:
        raise UserError("--build: {name} cannot be built ({error}); free some room", name=name, error=error) from None
    finally:
        process.close()
    if ended and process.exit_status == 0:
        return
    kept = _kept(log)
    if not ended:
        raise UserError(
            "--build: {name} is not built within {within:g} s; its log is {log}",
            name=name,
            within=BUILD_LONGEST_S,
            log=kept,
        )
    raise UserError(
        "--build: {name} does not build: {lines}; its log is {log}", name=name, lines=_last_lines(log), log=kept
    )


def _kept(log: Path) -> Path:
    """The log where it outlives the gate, for its owner's eyes only."""
    text = redact(log.read_text(errors="replace")).encode()
    for folder in (Path.cwd() / RUNS, Path(tempfile.gettempdir())):
        with suppress(OSError):
            make_root(folder)
            number, name = tempfile.mkstemp(prefix=f"gate-{log.stem}-", suffix=".log", dir=folder)
            with os.fdopen(number, "wb") as file:
                file.write(text)
            return Path(name)
    return log


def _last_lines(log: Path) -> AnyText:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LINES_BYTES))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return redact(" | ".join(lines[-LINES:]))[-600:] or said("it prints nothing")


def is_revision(name: str) -> bool:
    """Whether git knows a commit by this name here."""
    try:
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return bool(_git(Path.cwd(), *words, fetches=False))
    except UserError:
        return False


_NO_FETCH = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}
"""Objects that a clone lacks are not fetched: its settings name the program that would."""


def _git(folder: Path, *arguments: str, fetches: bool = True) -> str:
    """What git prints. It has no terminal to ask at, and ends with all that it started. Raises UserError."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {} if fetches else _NO_FETCH
    try:
        with subprocess.Popen(
            ["git", *_QUIET, *arguments],
            cwd=folder,
            env={**environment, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                printed, problems = process.communicate(timeout=GIT_LONGEST_S)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
    except subprocess.TimeoutExpired:
        raise UserError(
            "git {command}: not done within {within:g} s; run it yourself to see what it waits for",
            command=arguments[0],
            within=GIT_LONGEST_S,
        ) from None
    except OSError as error:
        raise UserError("git {command}: {error}; install git", command=arguments[0], error=error) from None
    if process.returncode:
        lines = [line.strip() for line in problems.splitlines() if line.strip()] or [f"status {process.returncode}"]
        raise UserError("git {command}: {line}", command=arguments[0], line=redact(" ".join(lines[-GIT_LINES:])))
    return printed
