"""A host of its own for a server of ours: a network namespace of this machine, with an address of its own.

What is sent to it goes through a pair of virtual network cards (veth) in the place of loopback. Other machines reach
the address only where this one forwards packets for them. The namespace is held by a program that ends with its input,
so with loadstone, however that ends; the cards go with the namespace.
"""

import contextlib
import ipaddress
import random
import shutil
import subprocess
from collections.abc import Iterator
from ipaddress import IPv4Network

from loadstone.safety.errors import UserError

NETWORKS = IPv4Network("198.18.0.0/15")
"""Set apart for benchmarks of networks (RFC 2544, C.2.2); of it each pair of cards gets four addresses."""
PAIR_BITS = 30
HOLDER = ("sh", "-c", "echo; exec cat")
"""Says a line once it is in its namespace, and ends with its input."""
KINDS = frozenset(
    {"local", "broadcast", "unicast", "multicast", "anycast", "blackhole", "unreachable", "prohibit", "throw", "nat"}
)
"""Kinds of routes, as `ip` prints them before where they lead; a plain one has none."""
STEP_S = 10.0
"""How long a step of making it may take."""
PLACES = "/usr/sbin:/usr/bin:/sbin:/bin"
"""Where systems keep the programs, which may not be on a user's PATH."""


class OwnHost:
    """Made when it is created, gone after `close`.

    Raises:
        UserError: it cannot be made here.
    """

    def __init__(self, server: str) -> None:
        self.address = ""
        self.enter: tuple[str, ...] = ()
        """What stands before a command that is to run there; the command takes its process over."""
        self._server = server
        self._card = ""
        self._holder: subprocess.Popen[bytes] | None = None
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove it; what still runs there keeps the namespace, and loses its card. May be called more than once."""
        holder, self._holder = self._holder, None
        if holder is not None:
            holder.communicate()  # closes its input
        if self._card:
            with contextlib.suppress(OSError, subprocess.SubprocessError):  # it went with the namespace
                _run(_program("ip"), "link", "delete", self._card)
            self._card = ""

    def _make(self) -> None:
        try:
            self._holder = subprocess.Popen(
                [_program("unshare"), "--net", *HOLDER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C at the terminal does not reach it
            )
            self._join(_in_its_namespace(self._holder))
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise UserError(
                "servers.{server}.host: a host of its own cannot be made here ({error}); run as root where "
                "network namespaces may be made, with unshare and ip (Debian: util-linux, iproute2), or leave "
                "out host",
                server=self._server,
                error=error,
            ) from None

    def _join(self, holder: int) -> None:
        """Connect both sides; `holder` is a process of the other one."""
        ours, theirs = list(_free_network().hosts())
        card = f"lst-{holder}"
        inside = (_program("nsenter"), "--target", f"{holder}", "--net")
        _run(_program("ip"), "link", "add", card, "type", "veth", "peer", "name", "eth0", "netns", f"{holder}")
        self._card = card
        _run(_program("ip"), "address", "add", f"{ours}/{PAIR_BITS}", "dev", card)
        _run(_program("ip"), "link", "set", card, "up")
        for step in (("address", "add", f"{theirs}/{PAIR_BITS}", "dev", "eth0"), ("link", "set", "eth0", "up")):
            _run(*inside, _program("ip"), *step)
        _run(*inside, _program("ip"), "link", "set", "lo", "up")
        self.address, self.enter = f"{theirs}", inside


def _in_its_namespace(holder: "subprocess.Popen[bytes]") -> int:
    """Its process, once it has a namespace. Raises OSError with what it says where it gets none."""
    if holder.stdout is None or not holder.stdout.readline():
        raise OSError(holder.communicate()[1].decode(errors="replace").strip())
    return holder.pid


def _free_network() -> IPv4Network:
    """One that none of this machine's routes leads to."""
    taken = list(_routed())
    candidates = 2 ** (PAIR_BITS - NETWORKS.prefixlen)
    for number in random.sample(range(candidates), candidates):
        network = IPv4Network((int(NETWORKS.network_address) + number * 2 ** (32 - PAIR_BITS), PAIR_BITS))
        if not any(network.overlaps(other) for other in taken):
            return network
    raise OSError(f"all of {NETWORKS} is routed elsewhere")


def _routed() -> Iterator[IPv4Network]:
    """Where routes lead to, but for the default route."""
    for line in _run(_program("ip"), "-4", "route", "show", "table", "all").splitlines():
        kind, *rest = line.split()
        to = rest[0] if kind in KINDS else kind
        if to != "default":
            yield ipaddress.IPv4Network(to, strict=False)


def _run(*command: str) -> str:
    """What a step prints. Raises OSError with what it says where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=STEP_S, check=False)
    if done.returncode != 0:
        raise OSError(done.stderr.strip() or f"{command[0]} ended with status {done.returncode}")
    return done.stdout


def _program(name: str) -> str:
    place = shutil.which(name) or shutil.which(name, path=PLACES)
    if place is None:
        raise OSError(f"{name} is not installed")
    return place
