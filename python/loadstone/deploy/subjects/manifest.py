"""A subject's manifest: how an application is built, started and known to be ready (`subject.yaml`)."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator

from loadstone.bounds.bounded_yaml import load_yaml
from loadstone.bounds.files import read_bytes, why
from loadstone.bounds.replies import shortened
from loadstone.errors import UserError
from loadstone.secrecy.known_secrets import learn
from loadstone.secrecy.places import secrets_of
from loadstone.secrecy.text import REFERENCE as SECRET_REFERENCE
from loadstone.spec.units import LONGEST_S

FILE = "subject.yaml"
LARGEST_BYTES = 1_000_000
PLACES = frozenset({"port", "output", "folder", "replica", "jvm_flags", "memory_mb"})
"""What a command may ask for: its port, the build's output, a folder of its own that is removed with it, its number
from 1, the manifest's JVM flags, and its memory limit in MB (10^6 bytes)."""
REFERENCE = re.compile(r"\$\{(\w[\w-]*)\.(\w+)\}")
FACTS = ("host", "port", "user", "password", "database", "address", "tls", "ca_file", "jdbc_options")
"""What can be requested of a server as `${server.fact}`; see `references.Address`."""


def _no_references(text: str) -> str:
    if REFERENCE.search(text) or SECRET_REFERENCE.search(text):
        raise ValueError(
            "every user of the machine can read a command; name servers in 'environment' instead, secrets too"
        )
    return text


def _known_places(command: str) -> str:
    unknown = set(re.findall(r"\{(\w*)\}", command)) - PLACES
    if unknown:
        raise ValueError(f"'{{{min(unknown)}}}' is not known; known are {', '.join(sorted(PLACES))}")
    _no_references(command)
    try:
        shlex.split(command)
    except ValueError as error:
        raise ValueError(f"'{command}' is not a command line ({str(error).lower()})") from None
    return command


Command = Annotated[str, Field(min_length=1), AfterValidator(_known_places)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Build(_Part):
    """Commands that make `output` out of `inputs`, run in a copy that holds nothing else."""

    commands: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)
    inputs: tuple[str, ...] = Field(min_length=1)
    """Patterns of files below the manifest's folder, as `src/**/*`."""
    output: str
    """What the commands make, and what `{output}` stands for in the run's command."""
    timeout_s: float = Field(default=900.0, gt=0, le=LONGEST_S)


class Run(_Part):
    """How one replica is started, and when it is ready."""

    command: Command
    ready: str = Field(default="/", pattern=r"^/")
    """Path that answers with a status of 200 to 399 once the application is ready."""
    metrics: str | None = Field(default=None, pattern=r"^/")
    """Path of a page in Prometheus's format, where a JVM tells its heap, collections and threads."""
    ready_within_s: float = Field(default=120.0, gt=0, le=LONGEST_S)


class Manifest(_Part):
    """`environment` values may hold `${server.fact}`, and `{port}` and the like as commands may.

    A value that refers to one of `optional_servers` is left out where the experiment has no such server. `tables` names
    a file of SQL statements for a server (`NAME: schema.sql`, below the manifest's folder): it is run there before
    the subject starts, where the experiment has such a server.
    """

    name: str = Field(pattern=r"^[a-zA-Z][a-zA-Z0-9_-]*$", max_length=40)
    build: Build | None = None
    run: Run
    environment: dict[str, str] = Field(default_factory=dict)
    optional_servers: tuple[str, ...] = ()
    tables: dict[str, str] = Field(default_factory=dict)
    jvm_flags: tuple[Annotated[str, AfterValidator(_no_references)], ...] = ()
    warm_up_s: float = Field(default=5.0, ge=0, le=LONGEST_S)
    """How long it is under load before measuring makes sense."""

    @field_validator("environment", mode="before")
    @classmethod
    def _as_text(cls, values: Any) -> Any:
        """Numbers and booleans as the shell would have them."""
        if not isinstance(values, Mapping):
            return values
        return {name: str(v).lower() if isinstance(v, bool) else str(v) for name, v in values.items()}

    @field_validator("environment")
    @classmethod
    def _known_facts(cls, values: dict[str, str]) -> dict[str, str]:
        for name, value in values.items():
            for server, fact in REFERENCE.findall(value):
                if fact not in FACTS:
                    raise ValueError(
                        f"{name}: ${{{server}.{fact}}}: a server has no '{fact}'; it has {', '.join(FACTS)}"
                    )
        return values


def read_manifest(path: Path) -> tuple[Manifest, Path]:
    """The manifest of a file, or of a folder that holds a `subject.yaml`; and its folder.

    Raises:
        UserError: there is none, or it is none; names the field.
    """
    file = path / FILE if path.is_dir() else path
    try:
        data = load_yaml(read_bytes(file, LARGEST_BYTES).decode("utf-8-sig"))
        for secret in secrets_of(data):
            learn(secret.value, sure=secret.sure)
        return Manifest.model_validate(data), file.absolute().parent
    except OSError as error:
        raise UserError(
            f"subject '{path}': {file} cannot be read ({error.strerror}); write one, see docs/subjects.md"
        ) from None
    except ValidationError as error:
        first = min(error.errors(include_url=False), key=lambda found: found["type"] != "extra_forbidden")
        where = shortened(".".join(str(part) for part in first["loc"])) or "manifest"
        said = "unknown key" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
        raise UserError(f"{file}: {where}: {shortened(said, 200)}; see docs/subjects.md") from None
    except (ValueError, OverflowError) as error:  # not UTF-8, too large, no regular file, no YAML, endless aliases
        raise UserError(f"{file}: {shortened(why(error), 200)}; see docs/subjects.md") from None
