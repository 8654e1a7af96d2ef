"""Kind `memcached`: a memcached that we start on a free loopback port, with a password, under a guard."""

import dataclasses
import os
import pwd
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.software import MEMCACHED
from loadstone.machine.installed_programs import Fact, install_line, output_of
from loadstone.machine.needs import Need, program_need
from loadstone.machine.processes.guarded_process import GuardedProcess
from loadstone.machine.processes.resource_limits import Limits, limits_in_force
from loadstone.machine.start_context import LastingStep
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.known import new_password
from loadstone.servers.local_server import OwnServer, PortTaken, await_answer
from loadstone.servers.memcached.control import MemcachedControl
from loadstone.servers.memcached.settings import READ_BACK, SPELLING, arguments_of, check_settings, why_it_ended
from loadstone.servers.server import ConfigValue, DeployContext, ServerFacts, ServerSettings
from loadstone.servers.settings_in_force import differences
from loadstone.text.language import _
from loadstone.text.message import said

PROGRAM = "memcached"
PACKAGES = (PROGRAM, PROGRAM, PROGRAM)
OTHER_PLACES = ("/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
HOW_TO_GET = said(
    "install it ({installed}), name it with 'binary', or give a server by URL (--server NAME=memcached://HOST:PORT)",
    installed=install_line(*PACKAGES),
)
LEAST = (1, 6, 12)
"""The version from which on the meta commands are as loadstone writes them."""


def find(binary: str | None = None) -> Path | None:
    """The program: `binary`, or else on PATH and where systems keep it."""
    places = [None, *OTHER_PLACES] if binary is None else [None]
    paths = (shutil.which(binary or PROGRAM, path=place) for place in places)
    return next((Path(path) for path in paths if path), None)


def version_of(program: Path) -> str | None:
    """Its version; None where it does not run, or says none."""
    version = re.search(r"\d+(\.\d+)+", output_of(str(program), "--version") or "")
    return version[0] if version else None


def is_too_old(version: str) -> bool:
    """Whether a version has no meta commands, or others."""
    return tuple(int(part) for part in version.split(".")[:3]) < LEAST


READY_S = 20.0
USER = "loadstone"
PASSWORDS = "passwords"


class MemcachedSettings(ServerSettings):
    """`settings` are memcached's own long options (`memory-limit: 1024`, `threads: 4`), read back after the start.

    `binary` is a path or a name on PATH.
    """

    kind: Literal["memcached"] = "memcached"
    may_have_own_host = True
    may_be_elsewhere = True
    binary: str | None = None
    settings: Annotated[dict[str, ConfigValue], AfterValidator(check_settings)] = Field(default_factory=dict)
    limits: Limits = Limits()

    def needs(self, name: str) -> Sequence[Need]:
        """See `ServerSettings.needs`."""
        if self.binary is not None:  # the user knows where it comes from
            return ()
        return [program_need(PROGRAM, f"server {name}", find(), PACKAGES)]

    def server(self, name: str) -> "LocalMemcached":
        """The server, not started."""
        if self.modules:
            raise UserError("servers.{name}.modules: a memcached has none; leave the key out", name=name)
        return LocalMemcached(name, self)


class LocalMemcached(OwnServer):
    """One memcached process of ours; see `provider.Server`. It keeps nothing over a restart."""

    def __init__(self, name: str, settings: MemcachedSettings) -> None:
        super().__init__(name)
        self.facts = ServerFacts(software=MEMCACHED.name, version="", mode="", role="")
        self.settings_read_back: Mapping[str, str] = {}
        self._settings = settings
        self._binary = Path()

    def control(self, timeout_s: float = 5.0) -> MemcachedControl:
        """See `provider.Server.control`."""
        return MemcachedControl(self._endpoint, timeout_s)

    def start(self, context: DeployContext) -> Endpoint:
        """See `provider.Server.start`."""
        self.stop()
        self._context = context
        self._binary = self._need()
        context.progress(_("starting {name} ({program})", name=self.name, program=self._binary.name))
        host = self._make_host(context)
        self._endpoint = Endpoint(host=host, port=self._free_port(host), username=USER, password=new_password())
        try:
            self._process = self._guarded(context, self._settings.limits)
            return self._run(self._process)
        except OSError as error:
            self.stop()
            raise UserError(
                "server {name}: cannot be started ({error}); check {binary} and the free room",
                name=self.name,
                error=error,
                binary=self._binary,
            ) from None
        except BaseException:
            self.stop()
            raise

    def _need(self) -> Path:
        binary = self._settings.binary
        program = find(binary)
        if program is None:
            problem = f"binary '{binary}' is not an executable file" if binary else "no memcached on PATH"
            raise UserError(
                "server {name}: {problem}; {how_to_get}", name=self.name, problem=problem, how_to_get=HOW_TO_GET
            )
        version = version_of(program)
        if version is not None and is_too_old(version):
            least = ".".join(map(str, LEAST))
            problem = f"{program} is version {version}, whose meta commands are missing or others"
            raise UserError(
                "server {name}: {problem}; install {least} or newer, or name another with 'binary'",
                name=self.name,
                problem=problem,
                least=least,
            )
        return program.absolute()

    def _write_files(self, folder: Path) -> None:
        """The passwords, for our eyes only; and the command, which has the port."""
        passwords = folder / PASSWORDS
        passwords.touch(mode=0o600)
        passwords.write_text(f"{USER}:{self._endpoint.password}\n")
        arguments = ["-l", self._endpoint.host, "-p", str(self._endpoint.port), "-U", "0", "-Y", str(passwords)]
        if self._process is not None:
            options = [*arguments_of(self._settings.settings), *_own_user()]
            self._process.become(self._on_its_host([str(self._binary), *arguments, *options]))

    def _read_back(self) -> None:
        limits = limits_in_force(self._settings.limits, self.limited)
        requested = self._settings.settings
        with self.control() as control:
            facts = control.facts()
            self.settings_read_back = control.settings(sorted({*READ_BACK, *requested}))
        self.facts = dataclasses.replace(facts, limits=limits, details={**facts.details, **self._host_details()})
        for line in differences(requested, self.settings_read_back, SPELLING):
            self._context.progress(LastingStep(_("{name}: {line}", name=self.name, line=line)))

    def _await_ready(self, process: GuardedProcess) -> None:
        control = MemcachedControl(self._endpoint, timeout_s=1.0)
        await_answer(self.name, control, process, self._context, READY_S, self._why_it_ended)

    def _why_it_ended(self, lines: Sequence[str]) -> Exception:
        if any("Address already in use" in line for line in lines):
            return PortTaken()
        return UserError("server {name}: {lines}", name=self.name, lines=why_it_ended(lines))


def _own_user() -> list[str]:
    """memcached refuses to be root unless root is named."""
    return ["-u", pwd.getpwuid(0).pw_name] if os.geteuid() == 0 else []


def installed() -> Fact:
    """The memcached that would be started."""
    program = find()
    if program is None:
        return Fact(PROGRAM, said("not installed"), "warn", HOW_TO_GET)
    version = version_of(program)
    if version is not None and is_too_old(version):
        least = ".".join(map(str, LEAST))
        return Fact(
            PROGRAM, f"{version} ({program})", "warn", said("it is too old: install {least} or newer", least=least)
        )
    return Fact(PROGRAM, f"{version or 'installed'} ({program})", "ok")
