"""Builds a subject or a driver once for each state of its sources, in the cache folder."""

import errno
import re
import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from loadstone.machine.installed_programs import versions
from loadstone.machine.processes.cache_folder import cache_folder, only_one
from loadstone.machine.processes.guarded_process import GuardedProcess, ProcessEnvironment, workspace_of
from loadstone.machine.processes.inherited import by_builds
from loadstone.machine.start_context import Step
from loadstone.programs.manifest import Build
from loadstone.programs.sources import pinned_as, source_files, source_hash
from loadstone.safety.bounds import pinned_files
from loadstone.safety.errors import UserError
from loadstone.servers.server import DeployContext
from loadstone.text.language import _
from loadstone.text.message import AnyText, said

MARK = ".built"
POLL_S, TELL_EVERY_S = 0.05, 5.0
PLACED = re.compile(r"\S+\.(java|kt|groovy|ts|js|go|rs|c|cc|cpp|cs|py)\b\W{0,2}\d+")
"""A message with its place in a source file, as compilers print it."""
UNPUBLISHED = re.compile(
    r"Could not find artifact \S+ in (?!.*offline)|was not found in \S+ during a previous attempt"
    r"|Could not find a version that satisfies the requirement \S+ \(from versions: (?!none)"
    r"|\bETARGET\b|: unknown revision|: reading \S+: 4(04|10) |[Mm]odule version is not available"
)
"""Messages of Maven, pip, npm and go that say that a version is not there; of one that cannot be reached they say
something else."""
NOISE = re.compile(
    r"COMPILATION ERROR|Failed to execute goal|^\[ERROR\]\s*$"
    r"|\bnpm (error|ERR!) (code|errno|syscall|type)\b|^npm (error|ERR!)$"
)


@dataclass(frozen=True)
class OtherVersion:
    """Another version of a library than the sources pin."""

    library: str
    version: str
    pinned: str
    commands: tuple[str, ...]
    """What builds it, in place of the build's own commands."""


class Buildable(Protocol):
    """A manifest of either kind."""

    @property
    def name(self) -> str: ...
    @property
    def build(self) -> Build | None: ...
    @property
    def requires(self) -> Mapping[str, str]: ...


def built(
    manifest: Buildable,
    folder: Path,
    context: DeployContext,
    kind: Literal["subject", "driver"] = "subject",
    other: OtherVersion | None = None,
    called: str = "",
) -> Path:
    """The folder that holds the build's output, built if it is not yet; `folder` itself without a build.

    `other`: with this version of its library; `called`: how messages call it, empty: as what it is.

    Raises:
        UserError: it does not build; with the compiler's first error and the log's place.
        Interrupted: the user requested a stop.
    """
    if manifest.build is None:
        return folder
    root = (folder / manifest.build.root).resolve()
    tools = versions(manifest.requires)
    build, what, version = manifest.build, f"{kind} {manifest.name}", ""
    if other is not None:
        build = build.model_copy(update={"commands": other.commands})
        version, what = f"-{other.version}", f"{what}:version={other.version}"
    what = called or what
    try:
        digest = source_hash(build, root, tools)
        name = f"{manifest.name}{version}-{digest}"
        place = cache_folder() / f"{kind}s" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        lock, reported = place.with_name(f"{name}.lock"), f"{manifest.name}: another run builds it"
        with only_one(lock, lambda: context.progress(reported), context.raise_if_stopped):
            pinned_files.check_digest(pinned_as(root), source_hash(manifest.build, root), f"{what}: its sources")
            # The output may have gone since: that of a virtual environment is a link to the machine's Python.
            if not ((place / MARK).exists() and (place / build.output).exists()):
                _copy(what, manifest.build, root, place)
                _make(what, manifest.name, build, place, context, other)
                if source_hash(build, root, tools) != digest:
                    (place / MARK).unlink()
                    raise UserError("{what}: its sources changed while it was built; run it again", what=what)
    except OSError as error:
        raise UserError(
            "{what}: it cannot be built ({error}); {remedy}", what=what, error=error, remedy=_remedy(error, root)
        ) from None
    return place


def _remedy(error: OSError, sources: Path) -> AnyText:
    """What helps: a source cannot be read, or the cache folder cannot be written to."""
    if Path(str(error.filename or "")).is_relative_to(sources) and isinstance(error, PermissionError):
        return said("allow it to be read")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return said("free some room, or set XDG_CACHE_HOME to another disk")
    return said("set XDG_CACHE_HOME to a folder that you may write to")


def _copy(what: str, build: Build, folder: Path, place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    for source in source_files(build, folder):
        target = place / source.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    pinned_files.check_digest(
        pinned_as(folder), source_hash(build, place), f"{what}: its sources"
    )  # of what was copied


def _make(what: str, name: str, build: Build, place: Path, context: DeployContext, other: OtherVersion | None) -> None:
    log = place.with_name(f"{place.name}.log")
    log.unlink(missing_ok=True)
    for command in build.commands:
        _run(what, name, shlex.split(command), place, log, build, context, other)
    if not (place / build.output).exists():
        raise UserError(
            "{what}: build.output: the build made no '{output}'; correct it, its log is {log}",
            what=what,
            output=build.output,
            log=log,
        )
    (place / MARK).touch()


def _run(
    what: str,
    name: str,
    command: Sequence[str],
    place: Path,
    log: Path,
    build: Build,
    context: DeployContext,
    other: OtherVersion | None,
) -> None:
    """One command of the build, under a guard: it ends when loadstone does."""
    workspace = workspace_of(what, f"build-{name}", context.work_root)
    around = ProcessEnvironment(folder=place, inherited=by_builds(build.inherits))
    process = GuardedProcess(command, workspace, log, surroundings=around, lease=context.lease)
    try:
        started = reported = time.monotonic()
        context.progress(_("building {name}: {program}", name=name, program=command[0]))
        process.start()
        while process.alive():
            context.raise_if_stopped()
            now = time.monotonic()
            if now - started > build.timeout_s:
                raise UserError(
                    "{what}: build.timeout_s: not built within {timeout_s:g} s; its log is {log}",
                    what=what,
                    timeout_s=build.timeout_s,
                    log=log,
                )
            if now - reported >= TELL_EVERY_S:
                reported = now
                told = _(
                    "building {name}: {program}, {seconds:.0f} s", name=name, program=command[0], seconds=now - started
                )
                context.progress(Step(told, about=f"building {name}: {command[0]}"))
            time.sleep(POLL_S)
    except OSError as error:
        raise UserError(
            "{what}: build: {command} cannot be run ({error}); install it", what=what, command=command[0], error=error
        ) from None
    finally:
        process.close()
    if process.exit_status != 0:
        text = log.read_text(errors="replace")
        if other is not None and is_unpublished(text):
            raise UserError(
                "{what}: no such version of {library} is published; write one that is, as {pinned}",
                what=what,
                library=other.library,
                pinned=other.pinned,
            )
        raise UserError(
            "{what}: it does not build: {text}; its log is {log}", what=what, text=first_error(text, place), log=log
        )


def is_unpublished(log: str) -> bool:
    """Whether a build failed because its package manager reached its registry, and that has no such version."""
    return UNPUBLISHED.search(log) is not None


def first_error(log: str, place: Path) -> str:
    """The compiler's own first error out of a build's log; else the first line that tells of one; else the last."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE) and not NOISE.search(line)]
    chosen = next(
        (line for line in errors if PLACED.search(line)), next(iter(errors), lines[-1] if lines else "nothing")
    )
    return chosen.removeprefix("[ERROR] ").replace(f"{place}/", "")[:300]
