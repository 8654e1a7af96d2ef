"""Two git revisions of a service: each in a worktree of its own beneath a temporary folder, built, removed at the end.

The user's own tree is only read. `.` means the tree as it stands, with what is not committed: its files are copied.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadstone import terminal
from loadstone.commands.gate_options import Versions
from loadstone.errors import UserError
from loadstone.language import said
from loadstone.record.folder import make_root
from loadstone.runs import RUNS
from loadstone.secrecy.known_secrets import hide

AS_IT_STANDS = "."
BUILD_LONGEST_S, GIT_LONGEST_S = 900.0, 120.0
LINES, LINES_BYTES = 6, 4_000
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false")
"""No program of the repository's runs for what is only looked at."""


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
        for side, name, commit in zip(("base", "head"), names, commits, strict=True):
            place = folder / f"{side}-tree"
            held.enter_context(_tree(top, place, commit))
            at = place / below
            if not at.is_dir():
                raise UserError(
                    said("{name}: has no folder {below}; begin in one that both have", name=name, below=below)
                )
            if versions.build is not None:
                _build(versions.build, at, name, folder / f"{side}-build.log")
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
            said("--start: starts git revisions, and this folder is in no git repository; begin in your clone")
        ) from None


def _require_meant(top: Path, names: Sequence[str], commits: Sequence[str | None]) -> None:
    """Raises UserError where both are the same, or one is not what the user sees before them."""
    if commits[0] == commits[1]:
        raise UserError(
            said(
                "--base {base}, --head {head}: both are {commit}; name two versions",
                base=names[0],
                head=names[1],
                commit="." if commits[0] is None else commits[0][:10],
            )
        )
    here = _git(top, "rev-parse", "HEAD").strip()
    changed = _git(top, "status", "--porcelain").splitlines()
    if here in commits and None not in commits and changed:
        name = names[commits.index(here)]
        raise UserError(
            said(
                "{name}: the tree holds changes that are not committed, of {file}; commit them, or measure the tree as "
                "it stands: --head .",
                name=name,
                file=hide(changed[0][3:]),
            )
        )


def _commit(top: Path, name: str, option: str) -> str | None:
    """The commit of a revision; None of the tree as it stands. Raises UserError."""
    if name == AS_IT_STANDS:
        return None
    try:
        return _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip()
    except UserError:
        raise UserError(
            said(
                "{option} {name}: git knows no such revision; name a branch, a tag or a commit (a shallow clone lacks "
                "older ones: git fetch --unshallow), or . for the tree as it stands",
                option=option,
                name=name,
            )
        ) from None


def _shown(name: str, commit: str | None) -> str:
    if commit is None:
        return said("the tree as it stands")
    return name if commit.startswith(name) else f"{name} ({commit[:7]})"


@contextmanager
def _tree(top: Path, place: Path, commit: str | None) -> Iterator[None]:
    """The files of a version at a place of their own."""
    if commit is None:
        _copy(top, place)
        yield
        return
    try:
        _git(top, "worktree", "add", "--detach", "--quiet", str(place), commit)
        yield
    finally:
        shutil.rmtree(place, ignore_errors=True)
        with _ignoring():
            _git(top, "worktree", "prune")


@contextmanager
def _ignoring() -> Iterator[None]:
    try:
        yield
    except UserError as error:
        terminal.remark(str(error))


def _copy(top: Path, place: Path) -> None:
    """What git would take of the tree as it stands: nothing that it ignores."""
    for name in _git(top, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        source = top / name
        if name and (source.is_file() or source.is_symlink()):
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


def _build(command: str, folder: Path, name: str, log: Path) -> None:
    """Run the user's build in a shell, with a process group of its own. Raises UserError, with its last lines."""
    terminal.remark(said("building {name}", name=name))
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["sh", "-c", command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            status = process.wait(BUILD_LONGEST_S)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end(process)
    if status == 0:
        return
    kept = _kept(log)
    if status is None:
        raise UserError(
            said(
                "--build: {name} is not built within {within:g} s; its log is {log}",
                name=name,
                within=BUILD_LONGEST_S,
                log=kept,
            )
        )
    raise UserError(
        said("--build: {name} does not build: {lines}; its log is {log}", name=name, lines=_last_lines(log), log=kept)
    )


def _kept(log: Path) -> Path:
    """The log where it outlives the gate."""
    kept = Path.cwd() / RUNS / f"gate-build-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.log"
    try:
        make_root(kept.parent)
        kept.write_text(hide(log.read_text(errors="replace")))
    except OSError:
        return log
    return kept


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End its whole group."""
    for number, wait_s in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        until = time.monotonic() + wait_s
        while time.monotonic() < until:
            process.poll()
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.05)


def _last_lines(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace")[-LINES_BYTES:].splitlines() if line.strip()]
    return hide(" | ".join(lines[-LINES:]) or said("it prints nothing"))[-600:]


def _git(folder: Path, *arguments: str) -> str:
    """What git prints. Raises UserError with its last line."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *_QUIET, *arguments],
            cwd=folder,
            env={**environment, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=GIT_LONGEST_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(said("git {command}: {error}; install git", command=arguments[0], error=error)) from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"status {done.returncode}"]
        raise UserError(said("git {command}: {line}", command=arguments[0], line=hide(lines[-1])))
    return done.stdout
