"""A subject is built once for each state of its sources, in a folder of the cache."""

import hashlib
import os
import platform
import re
import shlex
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from loadstone.deploy.processes.cache import cache_folder, only_one
from loadstone.deploy.processes.guarded import GuardedProcess, Surroundings
from loadstone.deploy.processes.workspace import Workspace
from loadstone.deploy.provider import DeployContext, Step
from loadstone.deploy.subjects.manifest import Build, Manifest
from loadstone.errors import UserError

MARK = ".built"
POLL_S, TELL_EVERY_S = 0.05, 5.0
PLACED = re.compile(r"\S+\.(java|kt|groovy|ts|js|go|rs|c|cc|cpp|cs|py)\b\W{0,2}\d+")
"""A message with its place in a source file, as compilers print it."""
NOISE = re.compile(r"COMPILATION ERROR|Failed to execute goal|^\[ERROR\]\s*$|\bnpm (error|ERR!) (code|errno)\b")


def source_files(build: Build, folder: Path) -> list[Path]:
    """The files that the inputs name, in order.

    Raises:
        UserError: a pattern names none.
    """
    found: set[Path] = set()
    for pattern in build.inputs:
        matching = [path for path in folder.glob(pattern) if path.is_file()]
        if not matching:
            raise UserError(f"{folder}: build.inputs: '{pattern}' matches no file; correct it or leave it out")
        found.update(matching)
    return sorted(found)


def source_hash(build: Build, folder: Path) -> str:
    """16 hexadecimal digits that change with the sources, the commands and the kind of machine."""
    digest = hashlib.sha256(repr((build.commands, build.output, platform.system(), platform.machine())).encode())
    for path in source_files(build, folder):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(folder)}\0{content}\0{os.access(path, os.X_OK)}\n".encode())
    return digest.hexdigest()[:16]


def built(manifest: Manifest, folder: Path, context: DeployContext) -> Path:
    """The folder that holds the build's output, built if it is not yet; `folder` itself without a build.

    Raises:
        UserError: it does not build; with the compiler's first error and the log's place.
        Interrupted: the user requested a stop.
    """
    if manifest.build is None:
        return folder
    name = f"{manifest.name}-{source_hash(manifest.build, folder)}"
    try:
        place = cache_folder() / "subjects" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        lock, reported = place.with_suffix(".lock"), f"{manifest.name}: another run builds it"
        with only_one(lock, lambda: context.progress(reported), context.raise_if_stopped):
            if not (place / MARK).exists():
                _build(manifest.name, manifest.build, folder, place, context)
    except OSError as error:
        raise UserError(f"subject {manifest.name}: it cannot be built ({error}); free some room") from None
    return place


def _build(name: str, build: Build, folder: Path, place: Path, context: DeployContext) -> None:
    shutil.rmtree(place, ignore_errors=True)
    for source in source_files(build, folder):
        target = place / source.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    log = place.with_suffix(".log")
    log.unlink(missing_ok=True)
    for command in build.commands:
        _run(name, shlex.split(command), place, log, build.timeout_s, context)
    if not (place / build.output).exists():
        raise UserError(
            f"subject {name}: build.output: the build made no '{build.output}'; correct it, its log is {log}"
        )
    (place / MARK).touch()


def _run(name: str, command: Sequence[str], place: Path, log: Path, timeout_s: float, context: DeployContext) -> None:
    """One command of the build, under a guard: it ends when loadstone does."""
    workspace = Workspace(f"build-{name}", context.work_root)
    process = GuardedProcess(command, workspace, log, surroundings=Surroundings(folder=place))
    try:
        started = reported = time.monotonic()
        context.progress(f"building {name}: {command[0]}")
        process.start()
        while process.alive():
            context.raise_if_stopped()
            now = time.monotonic()
            if now - started > timeout_s:
                raise UserError(f"subject {name}: build.timeout_s: not built within {timeout_s:g} s; its log is {log}")
            if now - reported >= TELL_EVERY_S:
                reported = now
                said = f"building {name}: {command[0]}, {now - started:.0f} s"
                context.progress(Step(said, about=f"building {name}: {command[0]}"))
            time.sleep(POLL_S)
    except OSError as error:
        raise UserError(f"subject {name}: build: {command[0]} cannot be run ({error}); install it") from None
    finally:
        process.close()
    if process.exit_status != 0:
        text = log.read_text(errors="replace")
        raise UserError(f"subject {name}: it does not build: {first_error(text, place)}; its log is {log}")


def first_error(log: str, place: Path) -> str:
    """The compiler's own first error out of a build's log; else the first line that tells of one; else the last."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE) and not NOISE.search(line)]
    chosen = next(
        (line for line in errors if PLACED.search(line)), next(iter(errors), lines[-1] if lines else "nothing")
    )
    return chosen.removeprefix("[ERROR] ").replace(f"{place}/", "")[:300]
