"""The container engine of this machine, Docker or Podman, by the Docker-compatible API on its Unix socket."""

import contextlib
import io
import json
import os
import socket
import stat
import struct
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import psutil
import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.containers import Container
from docker.transport import UnixHTTPAdapter
from docker.transport.unixconn import UnixHTTPConnection, UnixHTTPConnectionPool
from docker.types import LogConfig, Ulimit

from loadstone.machine.processes.resource_limits import Limits
from loadstone.machine.start_context import LastingStep, Step
from loadstone.safety.bounds.bounded_socket import BoundedSocket
from loadstone.safety.bounds.replies import MISREAD, shortened
from loadstone.safety.errors import LoadstoneError, UserError
from loadstone.safety.secrets.known import forms
from loadstone.servers.containers import container_guard
from loadstone.text.language import _
from loadstone.text.message import AnyText, joined, said

ANSWER_S = 120.0
"""How long the engine may take to answer, to the last byte; making a container is slow on a busy disk."""
PULL_S = 3600.0
"""Longest time of an image that it pulls."""
NETWORK_TRIES, INTERFACE_GONE = 4, "no such network interface"
"""How often a network is asked for, and what Podman says where an interface of the machine went meanwhile."""
ANSWER_MAX_BYTES = 64 * 1024 * 1024
SAID_MAX = 400
OUTPUT_BYTES_MAX = 16 * 1024 * 1024
"""Bytes of what a container prints that are kept by the engine, on its disk: an image that floods it would fill
that."""
REMOVE_S = 180.0
PULL_TELL_S = 2.0
"""How often a pull's progress is reported."""
STOP_S = 10
"""How long a server may take to end by itself before it is started again."""
LABEL = "loadstone"
OLDEST_API = "1.24"
"""Version of Docker's API, until the engine has told which it speaks."""
ENGINE_VARIABLES = ("DOCKER_HOST", "CONTAINER_HOST")
PODMAN_GIVES_FILES = 1_048_576
"""Open files that Podman allows a container unless another number is requested."""
HOW_TO_START = said(
    "start one (Docker: systemctl start docker; Podman: podman system service --time=0 "
    "unix:///run/podman/podman.sock as root, or unix://$XDG_RUNTIME_DIR/podman/podman.sock as another user)"
)


ENGINE_ERRORS = (DockerException, requests.RequestException, *MISREAD)
"""What the engine refuses, and what reading an answer raises that makes no sense."""


class PublishedPortTaken(Exception):
    """Another took the port between our choice and the container's start."""


@dataclass(frozen=True)
class Recipe:
    """What a container is made from."""

    name: str
    image: str
    command: Sequence[str]
    ports: Mapping[int, int]
    """Port inside -> port on this machine's loopback."""
    files: Mapping[str, str] = field(repr=False)
    """Path inside -> text; written before it starts, observed by no one outside but the engine. May hold secrets."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Shown to everybody who may inspect containers: no secrets."""
    cpus: Sequence[int] = ()
    limits: Limits = field(default_factory=Limits)


class _Connection(UnixHTTPConnection):
    """To the engine's socket, with a bound on each answer: one that drips would never be late by a step's time."""

    within_s = ANSWER_S
    bounded: BoundedSocket | None = None

    def connect(self) -> None:
        super().connect()
        if self.sock is not None:
            self.bounded = BoundedSocket(self.sock, self.within_s)
            self.bounded.begin(self.within_s, ANSWER_MAX_BYTES)
            self.sock = self.bounded  # type: ignore[assignment]

    def putrequest(self, *arguments: Any, **named: Any) -> None:
        if self.bounded is not None:  # it was kept open
            self.bounded.begin(self.within_s, ANSWER_MAX_BYTES)
        super().putrequest(*arguments, **named)


class _Pool(UnixHTTPConnectionPool):
    within_s = ANSWER_S

    def _new_conn(self) -> Any:
        made = _Connection(self.base_url, self.socket_path, round(self.within_s))
        made.within_s = self.within_s
        return made


class _BoundedAdapter(UnixHTTPAdapter):
    """Docker's client speaks to the engine by this."""

    within_s = ANSWER_S

    def get_connection(self, url: Any, proxies: Any = None) -> _Pool:  # noqa: ARG002 (a socket has none)
        made = _Pool(url, self.socket_path, round(self.within_s), maxsize=1)
        made.within_s = self.within_s
        return made


def client_of(path: Path) -> tuple[docker.DockerClient, _BoundedAdapter]:
    """A client of the engine at a socket, and what bounds it. Raises what `ENGINE_ERRORS` names."""
    address, seconds = f"unix://{path}", round(ANSWER_S)
    client = docker.DockerClient(base_url=address, version=OLDEST_API, timeout=seconds)
    bounded = _BoundedAdapter(f"http+{address}", timeout=seconds)
    client.api.mount("http+docker://", bounded)
    client.api._version = str(client.api.version(api_version=False)["ApiVersion"])  # type: ignore[attr-defined]
    return client, bounded


class Engine:
    """One Docker or Podman. Its methods raise `UserError` with the engine's own message."""

    def __init__(self, path: Path) -> None:
        self.socket = path
        self._client, self._bounded = client_of(path)
        client = self._client
        version = client.version()
        parts = [str(part.get("Name", "")) for part in version.get("Components") or ()]
        named = next((part for part in parts if "podman" in part.lower()), None)
        self.name = shortened(f"{named or 'Docker'} {version.get('Version', '')}")
        """As people know it, with its version."""
        self._ulimits: list[Ulimit] = []
        if named is not None:
            with contextlib.suppress(OSError, psutil.Error):
                self._ulimits = held_ulimits(path)

    def close(self) -> None:
        """Close the connections to it. May be called more than once."""
        self._client.close()

    def need_image(self, image: str, progress: Callable[[str], None]) -> Mapping[str, Any]:
        """What the engine tells of an image; pulled if it is not on this machine."""
        try:
            with self.telling(f"image '{image}'", "looked up"):
                return dict(self._client.images.get(image).attrs)
        except ImageNotFound:
            pass
        try:
            with self._patient(PULL_S):
                self._pull(image, progress)
            return dict(self._client.images.get(image).attrs)
        except ENGINE_ERRORS as error:
            raise UserError(
                "image '{image}' is not on this machine and cannot be pulled ({error}); name one that 'docker "
                "images' or 'podman images' lists, or make a registry reachable that has it",
                image=image,
                error=message_of(error),
            ) from None

    @contextlib.contextmanager
    def _patient(self, within_s: float) -> Iterator[None]:
        self._bounded.within_s = within_s
        try:
            yield
        finally:
            self._bounded.within_s = ANSWER_S

    def _pull(self, image: str, progress: Callable[[str], None]) -> None:
        repository, _colon, tag = image.rpartition(":") if ":" in image.rpartition("/")[2] else (image, "", "latest")
        if "@" in image:
            repository, tag = image, ""
        layers: dict[str, str] = {}
        reported = time.monotonic()
        progress(_("pulling {image}", image=image))
        for line in self._client.api.pull(repository, tag=tag or None, stream=True, decode=True):
            if "error" in line:
                raise DockerException(str(line["error"]))
            if line.get("id"):
                layers[str(line["id"])] = str(line.get("status", ""))
            if time.monotonic() - reported > PULL_TELL_S:
                reported = time.monotonic()
                done = sum(status in ("Pull complete", "Already exists") for status in layers.values())
                progress(
                    Step(
                        _("pulling {image}: {done} of {layers} layers", image=image, done=done, layers=len(layers)),
                        about=f"pulling {image}",
                    )
                )

    def make_network(self, name: str) -> None:
        """A network of that name, for containers of ours and no one else.

        Podman fails where an interface of another network goes while it lists them all: it is asked again.
        """
        with self.telling(f"network '{name}'"):
            for left in reversed(range(NETWORK_TRIES)):
                try:
                    self._client.networks.create(name, driver="bridge", labels={LABEL: name})
                except APIError as error:
                    if not left or INTERFACE_GONE not in str(message_of(error)):
                        raise
                else:
                    return

    def start(self, recipe: Recipe, progress: Callable[[str], None]) -> Container:
        """A container named `recipe.name` in the network of that name, started. It stays if this fails.

        Raises:
            PortTaken: a port of the recipe is another's; the container is gone.
        """
        options: dict[str, Any] = {"cpuset_cpus": ",".join(map(str, recipe.cpus))} if recipe.cpus else {}
        what = f"container of image '{recipe.image}'"
        try:
            try:
                with self.telling(what):
                    return self._start(recipe, options)
            except UserError as refused:
                if not recipe.cpus or "cpuset" not in str(refused):
                    raise
                progress(LastingStep(_("{name}: not pinned to CPUs: {why}", name=recipe.name, why=refused)))
                self._drop(recipe.name)
                with self.telling(what):
                    return self._start(recipe, {})
        except PublishedPortTaken:
            self._drop(recipe.name)
            raise

    def _drop(self, name: str) -> None:
        with contextlib.suppress(NotFound):
            self._client.containers.get(name).remove(force=True, v=True)

    def _start(self, recipe: Recipe, options: Mapping[str, Any]) -> Container:
        limits = recipe.limits
        container = self._client.containers.create(
            recipe.image,
            list(recipe.command),
            name=recipe.name,
            network=recipe.name,
            labels={LABEL: recipe.name},
            environment=dict(recipe.environment),
            ports={f"{inside}/tcp": ("127.0.0.1", port) for inside, port in recipe.ports.items()},
            nano_cpus=None if limits.cpu is None else round(limits.cpu * 1e9),
            mem_limit=limits.memory,
            memswap_limit=limits.memory,
            ulimits=self._ulimits,
            log_config=LogConfig(type=LogConfig.types.JSON, config={"max-size": str(OUTPUT_BYTES_MAX)}),
            **options,
        )
        container.put_archive("/", packed(recipe.files))
        begin(container)
        return container

    @contextlib.contextmanager
    def telling(self, what: str, done: str = "made or started") -> Iterator[None]:
        """Errors of the engine within, as a `UserError` about `what`; but an image that is not there."""
        try:
            yield
        except (LoadstoneError, PublishedPortTaken, ImageNotFound):
            raise
        except Exception as error:  # Docker's client raises nothing more special of an answer that makes no sense
            raise UserError(
                "the {what} cannot be {done} ({name}: {error})",
                what=what,
                done=done,
                name=self.name,
                error=message_of(error),
            ) from None


def begin(container: Container) -> None:
    """Start a container that does not run.

    Raises:
        PortTaken: one of its ports is another's.
    """
    try:
        container.start()
    except APIError as error:
        told = str(message_of(error)).lower()
        if "address already in use" in told or "port is already allocated" in told:
            raise PublishedPortTaken from None
        raise


def find_engine() -> Engine:
    """The engine that DOCKER_HOST or CONTAINER_HOST names, or else the first that answers where engines usually are.

    Raises:
        UserError: no engine answers; says where it looked, and the remedy.
    """
    looked: list[AnyText] = []
    named = any(os.environ.get(name) for name in ENGINE_VARIABLES)
    for place in places():
        path = Path(place.removeprefix("unix://"))
        if not place.startswith(("unix://", "/")):
            looked.append(said("{place}: not a Unix socket of this machine", place=place))
        elif not is_socket(path):
            looked.append(said("{path}: no socket", path=path))
        elif not named and path.stat().st_uid not in (0, os.geteuid()):
            looked.append(
                said("{path}: it belongs to another user; name it by DOCKER_HOST if you trust them", path=path)
            )
        else:
            try:
                return Engine(path)
            except ENGINE_ERRORS as error:
                looked.append(f"{path}: {message_of(error)}")
    raise UserError(
        "no container engine answers ({looked}); {how_to_start}, or use a server of another kind",
        looked=joined("; ", looked),
        how_to_start=HOW_TO_START,
    )


def places() -> list[str]:
    """Where an engine may listen: what the user names, and nothing else then, or the usual sockets."""
    named = [os.environ[name] for name in ENGINE_VARIABLES if os.environ.get(name)]
    if named:
        return named[:1]
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}"))
    usual = [Path("/var/run/docker.sock"), runtime / "docker.sock"]
    usual += [Path("/run/podman/podman.sock"), runtime / "podman/podman.sock"]
    with contextlib.suppress(RuntimeError):  # a user that the system does not know has no home
        usual += [Path.home() / ".docker/run/docker.sock"]
        usual += [Path.home() / ".local/share/containers/podman/machine/podman.sock"]
    return [str(path) for path in usual]


def is_socket(path: Path) -> bool:
    """Whether a socket stands at `path`."""
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False


def message_of(error: Exception) -> AnyText:
    """What an engine said, on one line."""
    for cause in (error, error.__cause__, error.__context__):
        if isinstance(cause, APIError) and cause.explanation:
            return shortened(" ".join(str(cause.explanation).split()), SAID_MAX)
    text = " ".join(str(error).split())
    for known in ("Permission denied", "Connection refused", "No such file or directory", "timed out"):
        if known in text:
            return known
    if isinstance(error, MISREAD) and not isinstance(error, requests.RequestException):
        return said(
            "it answers what is no answer of Docker's or Podman's ({kind}: {text})",
            kind=type(error).__name__,
            text=shortened(text),
        )
    return shortened(text, SAID_MAX) or type(error).__name__


def packed(files: Mapping[str, str]) -> bytes:
    """Files as an archive. All inside may read them: the image decides which user its server is."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, text in files.items():
            content = text.encode()
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size, entry.mode, entry.mtime = len(content), 0o444, int(time.time())
            tar.addfile(entry, io.BytesIO(content))
        end = tar.offset + 2 * tarfile.BLOCKSIZE
    return archive.getvalue()[:end]  # Podman stops reading at the archive's end, and fails if more was sent


def held_ulimits(engine: Path) -> list[Ulimit]:
    """The limits of the Podman at a socket, if they are below those that it gives to containers by default; else none.

    It fails to give more than it has where it lacks the right to, as in a container.
    """
    if sys.platform != "linux":
        return []
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(engine))
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    process = psutil.Process(struct.unpack("3i", peer)[0])
    kinds = {"nofile": psutil.RLIMIT_NOFILE, "nproc": psutil.RLIMIT_NPROC}
    hard = {name: process.rlimit(kind)[1] for name, kind in kinds.items()}
    if not 0 <= hard["nofile"] < PODMAN_GIVES_FILES:
        return []
    return [Ulimit(name=name, soft=value, hard=value) for name, value in hard.items()]


class Removal:
    """A guard that removes the container and the network `name` when it is ordered to, or when loadstone is gone."""

    def __init__(self, engine: Path, name: str, log: Path | None, log_within: Path | None = None) -> None:
        """`log_within`: the folder from which on no link leads to the log; None: the one that the log stands in."""
        within = log_within or (log.parent if log is not None else "")
        self._what = (str(engine), name, str(log or ""), str(within))
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", container_guard.__file__, *self._what],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C at the terminal does not reach it
        )

    def hide(self) -> None:
        """The secrets that are known by now are kept out of the container's log, even if loadstone is killed."""
        data = self._secrets()
        with contextlib.suppress(OSError):  # it was killed: see `close`
            while data and self._guard.stdin is not None:
                data = data[os.write(self._guard.stdin.fileno(), data) :]

    def close(self) -> AnyText:
        """Remove both and wait until they are gone; what could not be removed, and why, or nothing."""
        try:
            reported, _ = self._guard.communicate(self._secrets() + b"stop\n", timeout=REMOVE_S)
        except subprocess.TimeoutExpired:
            self._guard.kill()
            self._guard.communicate()
            return said("not done within {seconds:g} s", seconds=REMOVE_S)
        if self._guard.returncode != 0:  # it was killed
            return "; ".join(container_guard.clean(*self._what, forms()))
        return "; ".join(reported.decode(errors="replace").splitlines())

    @staticmethod
    def _secrets() -> bytes:
        return json.dumps(forms()).encode() + b"\n"
