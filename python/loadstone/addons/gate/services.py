"""The two versions of a service that a gate starts: by a command each, or of two git revisions; or that run already."""

import os
import re
import shlex
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadstone.addons.gate.options import READY_WITHIN_S, Versions
from loadstone.addons.gate.revisions import is_revision, revisions
from loadstone.addons.gate.spec import BASE, HEAD, ONCE_WARM_UP_S
from loadstone.cli.operations import YamlMapping
from loadstone.experiment.spec.yaml_text import in_one_line
from loadstone.machine.processes.cache_folder import cache_folder
from loadstone.machine.processes.guarded_process import workspace_of
from loadstone.machine.processes.inherited import ALL
from loadstone.programs.manifest import FILE, OF_SHELL, PLACES
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.known import redact
from loadstone.safety.secrets.references import learn_commands, learn_environment, learn_options

NAME = "gate"
FOLDER = "gates"
"""Name of the folder within the cache folder."""


@contextmanager
def gate_folder() -> Iterator[Path]:
    """A folder that is removed at the end; after a SIGKILL by the next command that makes one. Raises UserError."""
    learn_environment()  # builds inherit it, and may print it
    workspace = workspace_of(NAME, NAME, private_root())
    try:
        yield workspace.path
    finally:
        workspace.remove()


def private_root(top: Path = Path("/")) -> Path | None:
    """Return the folder in which the folder of a gate is made; None: the system's temporary folder.

    Build tools look for their settings in all folders above a source tree: Maven for `.mvn/jvm.config`, Cargo for
    `.cargo/config.toml`, Go for `go.work`. In a `/tmp` that all users share, another one could put them there. It is
    used only where the cache folder has such a folder above it, too. `top`: no folder above it is looked at.
    """
    if not shared_above(Path(tempfile.gettempdir()), top):
        return None
    try:
        private = cache_folder() / FOLDER
        private.mkdir(mode=0o700, exist_ok=True)
    except (OSError, UserError):
        return None
    return None if shared_above(private, top) else private


def shared_above(folder: Path, top: Path) -> bool:
    """Whether every user may make files in `folder`, or in one above it up to `top`."""
    real = folder.resolve()
    places = [place for place in (real, *real.parents) if place.is_relative_to(top.resolve())]
    return any(place.stat().st_mode & stat.S_IWOTH for place in places)


NAME_MAX = 60
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Service:
    """One version of a service."""

    name: str
    """What the verdict calls it."""
    command: str = ""
    """Starts it; empty: it runs already."""
    folder: Path = Path()
    """Where the command is run."""
    url: str = ""


@dataclass(frozen=True)
class GateSubject:
    """A subject as an experiment has it."""

    name: str
    settings: YamlMapping
    url: str = ""
    """Where it runs already, with the path that is requested of it."""


@contextmanager
def services(versions: Versions) -> Iterator[tuple[GateSubject, GateSubject]]:
    """Both versions, as subjects of an experiment; what was made for them goes at the end. Raises UserError."""
    _learn_passwords(versions)
    require_versions(versions)
    if versions.base_url is not None and versions.head_url is not None:
        yield _at_urls(versions.base_url, versions.head_url)
        return
    with gate_folder() as folder:
        if versions.start is not None:
            with revisions(versions, folder) as (base, head):
                start = versions.start
                yield tuple(  # type: ignore[misc]
                    _started(versions, Service(one.name, start, one.folder), side, folder)
                    for one, side in ((base, BASE), (head, HEAD))
                )
            return
        commands = (versions.base or "", versions.head or "")
        yield tuple(  # type: ignore[misc]
            _started(versions, Service(_shown(command, commands), command, Path.cwd()), side, folder)
            for command, side in zip(commands, (BASE, HEAD), strict=True)
        )


def require_versions(versions: Versions) -> None:
    """Raises UserError where it is not clear which two versions are meant."""
    urls = (versions.base_url, versions.head_url)
    both = (versions.base, versions.head)
    if any(urls) and any(both):
        raise UserError("--base, --base-url: leave one of them out")
    for given, names in ((urls, ("--base-url", "--head-url")), (both, ("--base", "--head"))):
        if any(given) and not all(given):
            missing = names[0] if not given[0] else names[1]
            raise UserError("{missing}: a gate compares two versions; add it", missing=missing)
    if not any(urls) and not any(both):
        raise UserError(
            "--base, --head: which two versions? Write the commands that start them, with {{port}}, or URLs"
        )
    if any(urls):
        _require_alone(versions)
    if (versions.build is not None) and versions.start is None:
        raise UserError("--build: builds git revisions; add --start CMD, which starts each")
    if versions.start is not None:
        _words(versions.start, "--start")
        return
    for option, command in zip(("--base", "--head"), both, strict=True) if any(both) else ():
        _words(command or "", option)
    _require_unlike(urls if any(urls) else both)
    for option, command in zip(("--base", "--head"), both, strict=True):
        _require_no_revision(command or "", option)


def _require_alone(versions: Versions) -> None:
    """URLs are of services that run already."""
    warm_up = None if versions.warm_up_s is None else str(versions.warm_up_s)
    given = {"--build": versions.build, "--start": versions.start, "--ready": versions.ready, "--warm-up": warm_up}
    for option in (option for option, value in given.items() if value is not None):
        raise UserError("{option}: what is at a URL runs already; leave it out", option=option)


def _require_unlike(both: tuple[str | None, str | None]) -> None:
    if both[0] == both[1]:
        raise UserError("--base, --head: both are '{same}'; name two versions", same=redact(str(both[0]))[:NAME_MAX])


def _require_no_revision(command: str, option: str) -> None:
    """A revision that is taken for a command would only be said not to exist."""
    if len(command.split()) != 1 or shutil.which(command) is not None or os.path.exists(command):  # noqa: PTH110 (of any text)
        return
    if is_revision(command):
        raise UserError(
            "{option}: '{name}' is a git revision, and no program; add --start CMD, which starts each version",
            option=option,
            name=redact(command)[:NAME_MAX],
        )


def _learn_passwords(versions: Versions) -> None:
    """What stands behind `--password` is hidden from now on, before an error shows it: names go to pull requests."""
    learn_options(filter(None, (versions.base_url, versions.head_url)))
    learn_commands(filter(None, (versions.base, versions.head, versions.build, versions.start)))


def _at_urls(base: str, head: str) -> tuple[GateSubject, GateSubject]:
    from loadstone.cli.targets import address, distinct_label

    first = address(base)
    return GateSubject(first, {}, base), GateSubject(distinct_label(address(head), first), {}, head)


def _shown(command: str, both: tuple[str, str]) -> str:
    """A command as the verdict calls it: what both begin with is left out where it is long."""
    words, own = [shlex.split(one) for one in both], shlex.split(command)
    common = 0
    while common < min(map(len, words)) - 1 and words[0][common] == words[1][common]:
        common += 1
    text = redact(shlex.join(own[common:] if len(shlex.join(own)) > NAME_MAX else own)).replace("'{port}'", "{port}")
    return text if len(text) <= NAME_MAX else f"{text[: NAME_MAX - 3]}..."


def _started(versions: Versions, service: Service, side: str, folder: Path) -> GateSubject:
    """The subject of a command: its manifest, which is written for the time of the gate. Raises UserError."""
    option = "--start" if versions.start is not None else f"--{side}"
    words = _words(service.command, option)
    environment: dict[str, str] = {"PORT": "{port}"}
    while words and "=" in words[0] and words[0].partition("=")[0].isidentifier():
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    if not words:
        raise UserError("{option}: starts nothing; write a command, as './server --port {{port}}'", option=option)
    for word in words:
        if word in OF_SHELL or word == words[0] == "cd":
            raise UserError(
                "{option}: '{word}' is for a shell, and there is none; write sh -c '...'", option=option, word=word
            )
    unknown = next((one for one in _PLACE.findall(service.command) if one not in PLACES), None)
    if unknown is not None:
        raise UserError(
            "{option}: '{{{unknown}}}' is not known; known are {{port}}, {{host}} and {{folder}}",
            option=option,
            unknown=unknown,
        )
    if versions.start is None and not {"/", "{"} & set(words[0]) and shutil.which(words[0]) is None:
        raise UserError(
            "{option}: no program is called '{name}'; write the command that starts this version, or for a git "
            "revision go into its clone, and add --start CMD",
            option=option,
            name=redact(words[0])[:NAME_MAX],
        )
    usual_s = ONCE_WARM_UP_S if versions.start_once else 0.0
    warm_up_s = usual_s if versions.warm_up_s is None else versions.warm_up_s
    manifest = {
        "name": side,
        "run": {
            "command": shlex.join(words),
            "folder": str(service.folder.absolute()),
            "ready": versions.ready,
            "ready_within_s": versions.ready_within_s or READY_WITHIN_S,
            "inherits": ALL,  # the user typed the command, and it finds what it finds in their shell
        },
        "environment": environment,
        "warm_up_s": 0.0,
    }
    place = folder / side
    place.mkdir()
    (place / FILE).write_text(in_one_line(manifest), encoding="utf-8")
    return GateSubject(service.name, {"manifest": str(place)} | ({"warm_up": warm_up_s} if warm_up_s else {}))


def _words(command: str, option: str) -> list[str]:
    """The words of a command. Raises UserError, which does not show it: where a secret ends is not known."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UserError(
            "{option}: is not a command line ({error}); write it as a shell takes it",
            option=option,
            error=str(error).lower(),
        ) from None
