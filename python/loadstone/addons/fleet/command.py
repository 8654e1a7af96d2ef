"""`loadstone fleet ...`: certificates, a scheduler, agents; and what a fleet's machines can do."""

import contextlib
import json
import os
import re
import select
import socket
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from loadstone.addons.fleet import certificates
from loadstone.addons.fleet.certificates import Credential
from loadstone.addons.fleet.spec import PORT, FleetSpec, read_fleet
from loadstone.cli.command import command
from loadstone.cli.options import Option, whole
from loadstone.safety import terminal
from loadstone.safety.errors import DriveFailed, UserError
from loadstone.text.language import _, translatable

fleet_app = typer.Typer(
    help="Load from several machines: agents and certificates.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
ORDERED = "-"
"""In the place of an address: the order comes as a line of JSON on the standard input, and its end is the end."""
_ORDER_MAX, _ORDER_S = 65_536, 60.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LISTEN = re.compile(r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?")

Folder = Annotated[
    Path | None,
    Option(
        "--certificates",
        metavar="DIR",
        help=f"The fleet's certificates (default: ${certificates.FOLDER_VARIABLE}, or ~/.config/loadstone/fleet).",
    ),
]
Fleet = Annotated[str, typer.Argument(metavar="FLEET", help="local:4, ssh:HOST,HOST or tls://HOST:PORT.")]
Listen = Annotated[
    str,
    Option("--listen", metavar="HOST:PORT", help="Where the scheduler listens; all speak TLS with certificates."),
]


@dataclass(frozen=True)
class _Order:
    """What a fleet's command orders; see `addons/fleet/launching.py`."""

    listen: tuple[str | None, int]
    credential: Credential
    scheduler: str = ""
    name: str = ""
    role: Literal["agent", "monitor"] = "agent"
    contact: str | None = None


@fleet_app.callback()
def _fleet() -> None:
    """Load from several machines: agents and certificates."""


@command(fleet_app, "certificates")
def certificates_command(
    *,
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", show_default=False)] = None,
    days: Annotated[
        int,
        Option(
            "--days",
            metavar="N",
            help=f"How long they are good, at most {certificates.DAYS_MAX}.",
            read=whole(translatable("not a number of days"), 1, certificates.DAYS_MAX),
        ),
    ] = certificates.DAYS,
) -> None:
    """Make new certificates for a fleet.

    Whoever has one of them may run code on every agent: copy scheduler.pem, agent.pem and command.pem only to where
    each is needed, with ca.pem beside it.
    """
    into = folder or certificates.default_folder()
    issued = certificates.made(days)
    certificates.write(into, issued)
    until = certificates.expires(issued["command"])
    _print(f"written: {into}: {', '.join([certificates.AUTHORITY, *(f'{part}.pem' for part in issued)])}")
    _print(f"good until {until:%Y-%m-%d %H:%M} UTC; the scheduler, its agents and the command need those of one making")


@command(fleet_app, "scheduler")
def scheduler_command(
    *,
    order: Annotated[str, typer.Argument(metavar="[-]", show_default=False)] = "",
    listen: Listen = f"127.0.0.1:{PORT}",
    folder: Folder = None,
) -> None:
    """Run the scheduler that agents and commands meet at, until it is ended.

    With -: as the order on the standard input says, and until that ends.
    """
    from loadstone.addons.fleet.serving import serve_scheduler

    if order not in ("", ORDERED):
        raise UserError("{order}: a scheduler takes no address there; write --listen HOST:PORT", order=order)
    if order:
        with _failing_as_answer():
            told = _read_order()
            assert told.listen[0] is not None
            serve_scheduler((told.listen[0], told.listen[1]), told.credential, _answer_ready, watch_input=True)
        return
    at = _listen(listen)
    credential = certificates.read(folder or certificates.default_folder(), "scheduler")
    serve_scheduler(at, credential, lambda at: terminal.remark(f"scheduler: {at}"), watch_input=False)


@command(fleet_app, "agent")
def agent_command(
    *,
    scheduler: Annotated[str, typer.Argument(metavar="tls://HOST:PORT|-", show_default=False)],
    name: Annotated[
        str | None, Option("--name", metavar="NAME", help="Its name in the fleet (default: the machine's).")
    ] = None,
    role: Annotated[
        str, Option("--role", metavar="ROLE", help="agent: makes load; monitor: watches its machine, beside a server.")
    ] = "agent",
    listen: Annotated[
        str | None,
        Option(
            "--listen", metavar="HOST[:PORT]", help="Where it listens (default: the address towards the scheduler)."
        ),
    ] = None,
    folder: Folder = None,
) -> None:
    """Run an agent of a fleet, until it is ended; it joins again when the scheduler restarts.

    Run it as an ordinary user: what it is told to do it does with its user's rights.
    """
    from loadstone.addons.fleet.serving import serve_member

    if scheduler == ORDERED:
        with _failing_as_answer():
            told = _read_order()
            serve_member(
                told.scheduler,
                told.name,
                told.role,
                told.credential,
                _answer_ready,
                terminal.remark,
                listen=told.listen,
                contact=told.contact,
                watch_input=True,
                once=True,
            )
        return
    spec = _there(scheduler)
    at = (None, 0) if listen is None else _listen(listen, 0)
    named = socket.gethostname() if name is None else name
    if _NAME.fullmatch(named) is None:
        raise UserError("--name {named}: not a name; write at most 64 letters, digits, dots, dashes", named=named)
    if role not in ("agent", "monitor"):
        raise UserError("--role {role}: not a role; write agent or monitor", role=role)
    credential = certificates.read(folder or certificates.default_folder(), "agent")
    if os.geteuid() == 0:
        terminal.remark(
            _("fleet agent: it runs as root, and so does what it is told to do; an ordinary user is enough")
        )
    serve_member(
        _url(spec),
        named,
        "agent" if role == "agent" else "monitor",
        credential,
        lambda at: terminal.remark(
            _("{role} {name}: joined {scheduler}, reached at {at}", role=role, name=named, scheduler=scheduler, at=at)
        ),
        terminal.remark,
        listen=at,
        watch_input=False,
        once=False,
    )


@command(fleet_app, "up")
def up_command(*, fleet: Fleet, listen: Listen = f"127.0.0.1:{PORT}", folder: Folder = None) -> None:
    """Start a fleet for several runs, until it is ended by Ctrl-C.

    Certificates are made where there are none that are good. Runs then take `--fleet tls://HOST:PORT`.
    """
    import signal

    from loadstone.addons.fleet.dask_cluster import open_cluster

    spec = read_fleet(fleet, "fleet up")
    if spec.kind == "tls":
        raise UserError(
            "fleet up {fleet}: that fleet is there; write local:4 or ssh:HOST,HOST to start one", fleet=fleet
        )
    into = folder or certificates.default_folder()
    cluster = open_cluster(spec, claim=False, listen=_listen(listen), credentials=_kept_or_made(into))
    try:
        names = ", ".join(member.name for member in cluster.members)
        _print(_("{n} agents: {names}", n=len(cluster.members), names=names))
        named = "" if into == certificates.default_folder() else f"{certificates.FOLDER_VARIABLE}={into} "
        _print(_("to use them: {command}", command=f"{named}loadstone run EXPERIMENT --fleet {cluster.address}"))
        terminal.STDOUT.flush()
        stop: list[int] = []
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _frame: stop.append(number))
        told: set[str] = set()
        while not stop:
            for name, why in cluster.lost().items():
                if name not in told:
                    terminal.remark(_("agent {name}: {why}", name=name, why=why))
                    told.add(name)
            if len(cluster.lost()) == len(cluster.members):
                raise DriveFailed("fleet up: no agent is left")
            select.select([], [], [], 1.0)
    finally:
        cluster.close()


@command(fleet_app, "status")
def status_command(
    *,
    fleet: Fleet,
    folder: Folder = None,
    json_: Annotated[bool, Option("--json", help="Print it as JSON alone to stdout.")] = False,
) -> None:
    """List the members of a fleet that is there, a line each."""
    from loadstone.addons.fleet.dask_cluster import open_cluster

    cluster = open_cluster(_there(fleet), folder=folder, claim=False)
    try:
        rows = [
            {"name": member.name, "role": member.role, "address": member.address, **_said_of(cluster, member.name)}
            for member in cluster.members
        ]
    finally:
        cluster.close()
    if json_:
        terminal.result_json(json.dumps(rows, indent=1) + "\n")
        return
    for row in rows:
        user = "root" if row["root"] else f"user {row['user']}"
        _print(
            f"{row['name']:<20} {row['role']:<8} {row['host']:<20} {row['cpus']} CPU, {row['machine']}, loadstone "
            f"{row['loadstone']}, Python {row['python']}, engine {row['engine']}, {user}"
        )


@command(fleet_app, "down")
def down_command(*, fleet: Fleet, folder: Folder = None) -> None:
    """End a fleet that is there: its scheduler, and the agents that were started with it."""
    from loadstone.addons.fleet.dask_cluster import open_cluster

    # Claimed: a run that goes on is not ended by mistake.
    cluster = open_cluster(_there(fleet), folder=folder, claim=True, empty=True)
    number = len(cluster.members)
    try:
        cluster.end_fleet()
    finally:
        cluster.close()
    _print(_("ended: the scheduler and {n} members", n=number))


@command(fleet_app, "doctor")
def doctor_command(*, fleet: Fleet, folder: Folder = None) -> None:
    """Examine each machine of a fleet: its CPUs and limits, how far it is, its clock, and its versions.

    Exit status 1 if something could be better.
    """
    from loadstone.addons.fleet.dask_cluster import open_cluster
    from loadstone.addons.fleet.doctor import examined

    cluster = open_cluster(read_fleet(fleet, "fleet doctor"), folder=folder)
    try:
        good = True
        for member in cluster.members:
            _print(f"{member.role} {member.name} ({member.host})")
            for fact in examined(cluster, member, root=cluster.identities[member.name].root):
                good = good and fact.verdict == "ok"
                _print("\n".join(fact.lines))
    finally:
        cluster.close()
    if not good:
        raise typer.Exit(1)


def _said_of(cluster: Any, name: str) -> Mapping[str, Any]:
    told: Mapping[str, Any] = cluster.identities[name].model_dump(exclude={"role"})
    return told


def _kept_or_made(folder: Path) -> Mapping[certificates.CertifiedPart, Credential]:
    """Those of the folder if all are good, else new ones, which are written there."""
    try:
        return {part: certificates.read(folder, part) for part in certificates.PARTS}
    except UserError:
        issued = certificates.made()
        certificates.write(folder, issued)
        terminal.remark(_("fleet: new certificates in {folder}", folder=folder))
        return issued


def _there(text: str) -> FleetSpec:
    spec = read_fleet(text, "fleet")
    if spec.address is None:
        raise UserError("fleet {text}: not the address of a scheduler; write tls://HOST:PORT", text=text)
    return spec


def _url(spec: FleetSpec) -> str:
    assert spec.address is not None
    host, port = spec.address
    return f"tls://[{host}]:{port}" if ":" in host else f"tls://{host}:{port}"


def _listen(text: str, port: int = PORT) -> tuple[str, int]:
    read = _LISTEN.fullmatch(text)
    if read is None or int(read["port"] or 0) > 65535:
        raise UserError(
            "--listen {text}: not an address to listen at; write HOST:PORT, e.g. 127.0.0.1:{port}", text=text, port=PORT
        )
    return read["host"].strip("[]"), port if read["port"] is None else int(read["port"])


def _read_order() -> _Order:
    """Raises UserError if none comes."""
    read = b""
    while b"\n" not in read and len(read) < _ORDER_MAX and select.select([0], [], [], _ORDER_S)[0]:
        more = os.read(0, 4096)
        if not more:
            break
        read += more
    try:
        told = json.loads(read)
        host, port = told["listen"]
        return _Order(
            listen=(host, int(port)),
            credential=Credential(str(told["authority"]), str(told["own"])),
            scheduler=str(told.get("scheduler", "")),
            name=str(told.get("name", "")),
            role="monitor" if told.get("role") == "monitor" else "agent",
            contact=told.get("contact"),
        )
    except (ValueError, KeyError, TypeError):
        raise UserError("fleet: no order came on the standard input; - is for a fleet's own command") from None


@contextlib.contextmanager
def _failing_as_answer() -> Iterator[None]:
    """Tells the command that ordered why it cannot be done, before this process ends by the same error."""
    try:
        yield
    except Exception as error:
        _answer({"failed": str(error)})
        raise


def _answer_ready(address: str) -> None:
    _answer({"ready": address})


def _answer(message: Mapping[str, object]) -> None:
    terminal.result_json(json.dumps(message) + "\n")
    sys.stdout.flush()


def _print(line: str) -> None:
    terminal.result(f"{line}\n")
