"""A driver's manifest: how its program is built and started, and what it can drive (`driver.yaml`, docs/drivers.md)."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from loadstone.experiment.action import ListsActions, PlannedAction, fields
from loadstone.experiment.plan.driver_features import FEATURES
from loadstone.experiment.plan.protocols import ProtocolName
from loadstone.experiment.spec.driver_names import VERSION
from loadstone.programs.manifest import (
    Build,
    Inherits,
    OldestVersion,
    Program,
    VariableName,
    as_text,
    program_actions,
    read_as,
    without_shell,
)
from loadstone.safety.secrets.in_texts import REFERENCE as SECRET_REFERENCE
from loadstone.text.message import said
from loadstone.text.problem import Problem
from loadstone.text.units import LONGEST_S

FILE = "driver.yaml"
PLACES = frozenset({"output", "folder"})
"""What a command may hold: the build's output, and the folder that it was built in."""
_PLACE = re.compile(r"\{(\w*)\}")
"""Other braces are the program's own."""
Distribution = Literal["sequential", "uniform", "zipf", "gaussian", "exactly_once"]


def _known_places(command: str) -> str:
    unknown = set(_PLACE.findall(command)) - PLACES
    if unknown:
        raise Problem(
            "'{{{unknown}}}' is not known; known are {places}", unknown=min(unknown), places=", ".join(sorted(PLACES))
        )
    if SECRET_REFERENCE.search(command):
        raise Problem("every user of the machine can read a command; a driver gets its secrets with the plan")
    try:
        shlex.split(command)
    except ValueError as error:
        raise Problem(
            "is not a command line ({error}); write it as a shell takes it", error=str(error).lower()
        ) from None
    return command


def _known_feature(name: str) -> str:
    if name not in FEATURES:
        raise Problem("'{name}' is no feature; features are: {features}", name=name, features=", ".join(FEATURES))
    return name


def _quoted(version: Any) -> Any:
    if isinstance(version, int | float):  # as which 1.10 would be 1.1
        raise Problem("{version} is a number; write it in quotes", version=version)
    return version


class _DriverManifestPart(ListsActions):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RunProgram(_DriverManifestPart):
    """Command that starts the program, and its environment."""

    HARMLESS = fields("ready_within_s")
    LISTED = fields("command environment inherits")

    command: Annotated[str, Field(min_length=1), AfterValidator(_known_places)]
    environment: dict[VariableName, str] = Field(default_factory=dict)
    inherits: Inherits = ()
    """The variables of the user's environment that it gets beside those that every program gets."""
    ready_within_s: float = Field(default=30.0, gt=0, le=LONGEST_S)
    """How long it may take until it has opened its pool."""

    @field_validator("environment", mode="before")
    @classmethod
    def _as_text(cls, values: Any) -> Any:
        return as_text(values)

    def words(self, output: str, folder: str) -> list[str]:
        """The command as it is run, with these places."""
        places = {"output": output, "folder": folder}
        return [_PLACE.sub(lambda found: places[found[1]], word) for word in shlex.split(self.command)]


class Can(_DriverManifestPart):
    """What the program can drive; a plan that needs more is refused."""

    HARMLESS = fields("protocols models distributions features")

    protocols: tuple[ProtocolName, ...] = Field(min_length=1)
    models: tuple[Literal["closed", "open"], ...] = Field(min_length=1)
    distributions: tuple[Distribution, ...] = Field(min_length=1)
    features: tuple[Annotated[str, AfterValidator(_known_feature)], ...] = ()


class DriverBuild(Build):
    """The build of a driver."""

    HARMLESS = fields("timeout_s")
    LISTED = fields("commands inputs root output inherits version_commands")

    version_commands: tuple[Annotated[str, Field(min_length=1), AfterValidator(without_shell)], ...] = ()
    """In place of `commands` where another version of the library is asked for (`NAME:version=9.1.0`), which stands
    for `{version}`. Empty: there is none but that of `commands`."""


OptionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
Value = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=40)]


class DriverManifest(_DriverManifestPart):
    """A driver."""

    HARMLESS = fields("format name title library version warm_up_s can options")
    LISTED = fields("requires build run")

    format: Literal[1] = 1
    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=40)
    title: str = Field(min_length=1, max_length=80)
    library: str = Field(min_length=1, max_length=80)
    version: Annotated[str, BeforeValidator(_quoted), Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+-]*$", max_length=40)]
    """Version of the library, as its lock file pins it."""
    requires: dict[Program, OldestVersion] = Field(default_factory=dict)
    """Programs that building and running it take, each with the oldest version that will do."""
    build: DriverBuild | None = None
    run: RunProgram
    warm_up_s: float = Field(default=0.0, ge=0, le=LONGEST_S)
    """The least warm-up phase of a trial."""
    can: Can
    options: dict[OptionName, Annotated[tuple[Value, ...], Field(min_length=1)]] = Field(default_factory=dict)
    """Settings of its own: the values of each, the first of which is the default."""

    def actions(self, file: Path) -> Iterator[PlannedAction]:
        """What building and starting it does; `file`: the manifest's."""
        who, places = said("driver {name}", name=self.name), {"folder": str(file.absolute().parent)}
        yield from program_actions(who, file, self.build, self.run, self.requires, self.run.environment, places)

    @field_validator("options")
    @classmethod
    def _no_version(cls, values: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        if VERSION in values:
            raise Problem("'version' is the option of every driver; write build.version_commands")
        return values

    @model_validator(mode="after")
    def _has_its_output(self) -> Self:
        if self.build is None and "{output}" in self.run.command:
            raise Problem("run.command: {{output}} is what a build makes, and there is none; write {{folder}}/NAME")
        return self


def read_driver_manifest(path: Path) -> tuple[DriverManifest, Path]:
    """The manifest of a file, or of a folder that holds a `driver.yaml`; and its folder.

    Raises:
        UserError: it cannot be read, or is not valid; names the field.
    """
    return read_as("driver", path, FILE, DriverManifest, "docs/drivers.md")
