"""What runs where: versions of everything that bears on a result, compared by us before the first byte of load.

Dask warns of unlike versions, and goes on.
"""

import functools
import hashlib
import os
import platform
import socket
import sys
from importlib import metadata, util
from pathlib import Path

from pydantic import BaseModel, ConfigDict

import loadstone
from loadstone.addons.fleet.cluster_seam import Role
from loadstone.text.message import AnyText, said

_BESIDE = ("clients", "subjects")
"""Links in a source tree, folders in a wheel; no part of an agent."""


class Identity(BaseModel):
    """One process of a fleet."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    role: Role | None
    """None of the command."""
    host: str
    loadstone: str
    python: str
    dask: str
    sources: str
    """A hash of the package's Python files."""
    engine: str
    """A hash of the built engine; equal only between machines of one kind."""
    machine: str
    """System and processor: `Linux x86_64`."""
    cpus: int
    pid: int
    user: str
    root: bool


def own_identity(role: Role | None) -> Identity:
    """What this process is."""
    return Identity(
        role=role,
        host=socket.gethostname(),
        loadstone=loadstone.__version__,
        python=platform.python_version(),
        dask=metadata.version("distributed"),
        sources=_sources(),
        engine=_engine(),
        machine=f"{platform.system()} {platform.machine()}",
        cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        pid=os.getpid(),
        user=str(os.geteuid()),
        root=os.geteuid() == 0,
    )


def differences(ours: Identity, theirs: Identity) -> list[AnyText]:
    """In what two differ so that they must not measure together; a clause each, with both values."""
    found: list[AnyText] = [
        said("{name} {their} there, {our} here", name=name, their=their, our=our)
        for name, our, their in (
            ("loadstone", ours.loadstone, theirs.loadstone),
            ("Python", _minor(ours.python), _minor(theirs.python)),
            ("Dask", ours.dask, theirs.dask),
            ("loadstone's Python files", ours.sources, theirs.sources),
        )
        if our != their
    ]
    if ours.machine == theirs.machine and ours.engine != theirs.engine:
        found.append(said("the engine {engine} there, {own} here", engine=theirs.engine, own=ours.engine))
    return found


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


@functools.cache
def _sources() -> str:
    root = Path(loadstone.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        within = path.relative_to(root)
        if within.parts[0] in _BESIDE:
            continue
        digest.update(f"{within}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@functools.cache
def _engine() -> str:
    """Found and not imported: only `drivers/native.py` does that."""
    found = util.find_spec("loadstone._engine")
    if found is None or found.origin is None:
        return str(said("missing for Python {version}", version=_minor(sys.version.split()[0])))
    return hashlib.sha256(Path(found.origin).read_bytes()).hexdigest()[:12]
