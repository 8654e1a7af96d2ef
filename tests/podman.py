"""A Podman of the tests' own: its storage, its networks and its service are apart from any other's, and end with it.

Its images are made of this machine's own programs, so nothing is fetched. Like the official ones, that of Redis has
an entry point which gives up root and loads the modules it finds, and keeps its data in a volume.
"""

import contextlib
import http.server
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from loadstone.servers.mariadb import local as mariadb_local
from loadstone.servers.redis import packages

PATIENCE_S = 60.0
USER = 999
"""Whom the servers inside run as."""
CONFIG = """\
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "{folder}/tmp"
[network]
network_backend = "netavark"
network_config_dir = "{folder}/networks"
"""
ENTRY_POINT = f"""\
#!/bin/sh
set -e
if [ "$1" = redis-server ]; then
  for module in /usr/local/lib/redis/modules/*.so; do set -- "$@" --loadmodule "$module"; done
  exec setpriv --reuid={USER} --regid={USER} --clear-groups "$@"
fi
exec "$@"
"""


HOSTILE_ENTRY_POINT = r"""#!/bin/sh
case "$1" in
  floods) trap '' TERM; while :; do echo "$0 $0 $0 $0 $0 $0 $0 $0 $0 $0 $0 $0 $0 $0 $0 $0 $0 $0 $0 $0"; done;;
  silent) trap '' TERM; while :; do read -r line < /dev/zero; done;;
  exits) n=0; while [ $n -lt 3000 ]; do n=$((n+1)); echo "line $n of many"; done
         printf 'no license \033[2J\033]0;owned\007 found\n'; exit 3;;
esac
"""
"""What an image's first program may do, by the program that it is to start."""


class PodmanFailed(Exception):
    """A command of Podman's did not succeed; its words."""


class Rootfs:
    """The files of an image, as an archive."""

    def __init__(self) -> None:
        self._archive = io.BytesIO()
        self._tar = tarfile.TarFile(fileobj=self._archive, mode="w")
        self._there: set[str] = set()
        for name in ("bin", "sbin", "lib", "lib64"):
            self._add(name, tarfile.SYMTYPE, target=f"usr/{name}")
        for name in ("dev", "etc", "proc", "sys", "usr/local/bin"):
            self.folder(name)
        self.folder("tmp", 0o1777)
        for program in ("/usr/bin/sh", "/usr/bin/setpriv"):
            self.program(Path(program), program)

    def folder(self, name: str, mode: int = 0o755, user: int = 0) -> None:
        self._add(name, tarfile.DIRTYPE, mode=mode, user=user)

    def text(self, name: str, text: str, mode: int = 0o644) -> None:
        self.content(name, text.encode(), mode)

    def content(self, name: str, content: bytes, mode: int = 0o644, user: int = 0) -> None:
        self._add(name, tarfile.REGTYPE, content, mode, user)

    def program(self, path: Path, name: str) -> None:
        """A program or library, with the libraries that it needs."""
        self.content(name, path.resolve().read_bytes(), 0o755)
        reported = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False).stdout
        for library in (word for word in reported.split() if word.startswith("/")):
            inside = library if library.startswith("/usr") else f"/usr{library}"
            self.content(inside, Path(library).resolve().read_bytes(), 0o755)

    def tree(self, folder: Path, name: str, user: int = 0) -> None:
        self.folder(name, 0o755, user)
        for path in sorted(folder.rglob("*")):
            inside = f"{name}/{path.relative_to(folder)}"
            if path.is_dir():
                self.folder(inside, 0o755, user)
            elif path.is_file():
                self.content(inside, path.read_bytes(), 0o644, user)

    def archive(self) -> bytes:
        self._tar.close()
        return self._archive.getvalue()

    def _add(
        self, name: str, kind: bytes, content: bytes = b"", mode: int = 0o755, user: int = 0, target: str = ""
    ) -> None:
        name = name.lstrip("/")
        if name in self._there:
            return
        self._there.add(name)
        entry = tarfile.TarInfo(name)
        entry.type, entry.size, entry.mode, entry.linkname = kind, len(content), mode, target
        entry.uid = entry.gid = user
        self._tar.addfile(entry, io.BytesIO(content))


@dataclass(frozen=True)
class Podman:
    """A Podman with storage of its own, its service on a socket, and a registry that it may pull from."""

    folder: Path
    registry: str
    """`HOST:PORT`."""

    @property
    def socket(self) -> Path:
        return self.folder / "podman.sock"

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    @property
    def command(self) -> list[str]:
        return ["podman", "--root", str(self.folder / "root"), "--runroot", str(self.folder / "run")]

    @property
    def environment(self) -> dict[str, str]:
        config = str(self.folder / "containers.conf")
        registries = str(self.folder / "registries.conf")
        own = {"CONTAINERS_CONF": config, "CONTAINERS_REGISTRIES_CONF": registries, "TMPDIR": str(self.folder)}
        return {**os.environ, **own}

    def run(self, *arguments: str, given: bytes | None = None) -> str:
        """What a command of it prints."""
        done = subprocess.run(
            [*self.command, *arguments], env=self.environment, input=given, capture_output=True, check=False
        )
        if done.returncode != 0:
            raise PodmanFailed(done.stderr.decode(errors="replace").strip())
        return done.stdout.decode()

    def ours(self) -> list[str]:
        """Names of the containers, running or not, and of the networks that were made by loadstone."""
        found = self.run("ps", "-a", "--filter", "label=loadstone", "--format", "{{.Names}}").split()
        return found + self.run("network", "ls", "--filter", "label=loadstone", "--format", "{{.Name}}").split()

    def import_image(self, name: str, archive: bytes, *changes: str) -> None:
        options = [word for change in changes for word in ("--change", change)]
        self.run("import", *options, "-", name, given=archive)


def redis_rootfs() -> bytes:
    """Redis 8 with JSON, at the places of the official image."""
    rootfs = Rootfs()
    rootfs.program(packages.need_server(), "usr/local/bin/redis-server")
    rootfs.program(packages.need_json_module(), "usr/local/lib/redis/modules/rejson.so")
    rootfs.text("usr/local/bin/docker-entrypoint.sh", ENTRY_POINT, 0o755)
    rootfs.folder("data", 0o755, USER)
    return rootfs.archive()


def relative_rootfs(binary: Path, name: str) -> bytes:
    """Another server of Redis's family by its own program, without an entry point."""
    rootfs = Rootfs()
    rootfs.program(binary, f"usr/local/bin/{name}")
    return rootfs.archive()


def mariadb_rootfs(binary: Path, folder: Path) -> bytes:
    """This machine's MariaDB, with a data folder made beforehand."""
    data = folder / "mariadb-data"
    install = mariadb_local.find("mariadb-install-db")
    subprocess.run(
        [str(install), "--no-defaults", f"--datadir={data}", "--innodb-log-file-size=8M", "--skip-test-db"],
        check=True,
        capture_output=True,
    )
    rootfs = Rootfs()
    rootfs.program(binary, "usr/sbin/mariadbd")
    rootfs.tree(data, "var/lib/mysql", USER)
    rootfs.tree(Path("/usr/share/mysql/english"), "usr/share/mysql/english")
    rootfs.tree(Path("/usr/share/mysql/charsets"), "usr/share/mysql/charsets")
    rootfs.folder("run/mysqld", 0o755, USER)
    rootfs.text("etc/passwd", f"root:x:0:0::/:/bin/sh\nmysql:x:{USER}:{USER}::/:/bin/sh\n")
    rootfs.text("etc/group", f"root:x:0:\nmysql:x:{USER}:\n")
    rootfs.text("etc/mysql/my.cnf", "!includedir /etc/mysql/mariadb.conf.d/\n")
    rootfs.text("etc/mysql/mariadb.conf.d/50-server.cnf", "[mariadbd]\nbind-address = 127.0.0.1\nuser = mysql\n")
    return rootfs.archive()


def reason_against() -> str | None:
    """Why Podman cannot run here at all, or nothing."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "Podman with networks of its own needs root here"
    missing = [name for name in ("podman", "runc", "iptables") if shutil.which(name, path=_path()) is None]
    return f"not installed: {', '.join(missing)} (scripts/apt installs them where it can)" if missing else None


def _path() -> str:
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


@pytest.fixture(scope="session")
def podman() -> Iterator[Podman]:
    """A Podman with its service, and the images `localhost/redis:8` and `localhost/bare-redis:8` in it."""
    if reason := reason_against():
        pytest.skip(reason)
    with _folder() as folder, _registry(folder / "registry") as address:
        podman = Podman(folder, address)
        (folder / "containers.conf").write_text(CONFIG.format(folder=folder))
        (folder / "registries.conf").write_text(f'[[registry]]\nlocation = "{address}"\ninsecure = true\n')
        archive = redis_rootfs()
        podman.import_image("localhost/bare-redis:8", archive)
        podman.import_image(
            "localhost/redis:8",
            archive,
            *('ENTRYPOINT ["docker-entrypoint.sh"]', 'CMD ["redis-server"]', "VOLUME /data", "WORKDIR /data"),
        )
        try:
            _try_it(podman)
            with _service(podman):
                yield podman
        finally:
            podman.run("rm", "--all", "--force", "--volumes")


@pytest.fixture(scope="session")
def mariadb_image(podman: Podman) -> str:
    """The name of an image with a MariaDB."""
    binary = mariadb_local.find("mariadbd")
    if binary is None:
        pytest.skip("no mariadbd on PATH: scripts/apt installs it where it can")
    podman.import_image("localhost/mariadb:10.11", mariadb_rootfs(binary, podman.folder))
    return "localhost/mariadb:10.11"


@pytest.fixture(scope="session")
def relatives(podman: Podman) -> dict[str, str]:
    """The program of each relative -> the name of an image that has it and nothing else."""
    found = {"valkey-server": packages.need_valkey(), "redis-server": Path("/usr/bin/redis-server")}
    there = {name: binary for name, binary in found.items() if binary.is_file()}
    for name, binary in there.items():
        podman.import_image(f"localhost/only-{name}:1", relative_rootfs(binary, name))
    return {name: f"localhost/only-{name}:1" for name in there}


@pytest.fixture(scope="session")
def hostile_image(podman: Podman) -> str:
    """The name of an image whose entry point does what it must not."""
    rootfs = Rootfs()
    rootfs.text("usr/local/bin/entry.sh", HOSTILE_ENTRY_POINT, 0o755)
    podman.import_image("localhost/hostile:1", rootfs.archive(), 'ENTRYPOINT ["/usr/local/bin/entry.sh"]')
    return "localhost/hostile:1"


@pytest.fixture
def image_elsewhere(podman: Podman) -> Iterator[str]:
    """The name of an image that is in a registry and not on this machine."""
    name = f"{podman.registry}/redis:8"
    podman.run("save", "--format", "docker-dir", "--output", str(podman.folder / "registry"), "localhost/redis:8")
    yield name
    podman.run("rmi", "--force", name)


@pytest.fixture
def podman_found(podman: Podman) -> Iterator[Podman]:
    """The tests' Podman as the engine that loadstone finds. Nothing that a test makes may be left in it."""
    with found_by(podman):
        yield podman


@contextlib.contextmanager
def found_by(podman: Podman) -> Iterator[None]:
    """Have loadstone find it meanwhile, and nothing be left in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", podman.url)
        before = podman.ours()
        yield
        assert podman.ours() == before


class _Registry(http.server.BaseHTTPRequestHandler):
    """One image, out of the folder that `podman save --format docker-dir` made."""

    folder: Path

    def do_GET(self) -> None:
        required = self.path.rpartition("/")[2].removeprefix("sha256:")
        path = self.folder / ("manifest.json" if "/manifests/" in self.path else required)
        content = path.read_bytes() if path.is_file() else b"{}"
        self.send_response(200 if path.is_file() or self.path == "/v2/" else 404)
        reported = json.loads(content).get("mediaType") if path.name == "manifest.json" else None
        self.send_header("Content-Type", reported or "application/octet-stream")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def _registry(folder: Path) -> Iterator[str]:
    """Serves the image in `folder`; its address."""
    handler = type("Handler", (_Registry,), {"folder": folder})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A folder with a short name (the paths of sockets are limited), gone afterwards with all that is mounted in it."""
    folder = Path(tempfile.mkdtemp(prefix="podman-"))
    try:
        yield folder
    finally:
        for mount in _mounts_below(folder):
            subprocess.run(["umount", "--lazy", mount], check=False, capture_output=True)
        shutil.rmtree(folder)


def _mounts_below(folder: Path) -> Iterable[str]:
    mounts = [line.split(" ")[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    return sorted((mount for mount in mounts if mount.startswith(f"{folder}/")), reverse=True)


def _try_it(podman: Podman) -> None:
    """Skip if this kernel lets no container run."""
    try:
        limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"]
        podman.run("run", "--rm", *limits, "--entrypoint", "/bin/sh", "localhost/redis:8", "-c", "exit 0")
    except PodmanFailed as error:
        pytest.skip(f"Podman runs no container here: {str(error)[-300:]}")


@contextlib.contextmanager
def _service(podman: Podman) -> Iterator[None]:
    with (podman.folder / "service.log").open("w") as log:
        service = psutil.Popen(
            [*podman.command, "system", "service", "--time=0", podman.url],
            env=podman.environment,
            stdout=log,
            stderr=log,
        )
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not _answers(podman.socket):
                assert service.poll() is None, (podman.folder / "service.log").read_text()
                assert time.monotonic() < deadline, "Podman's service does not listen"
                time.sleep(0.05)
            yield
        finally:
            service.terminate()
            service.wait()


def _answers(path: Path) -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(path))
        return True
    return False
