"""All generators that loadstone is measured beside, and which of them are installed."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.peers import http_peers, redis_peers
from bench.peers.child import Child, run_child
from bench.peers.load import Case, Kind, Length, Reading, Target

CommandLine = Callable[[str, Case, Target, Length], list[str]]
Paced = Callable[[str, Case, Target, Length, float], list[str]]
"""With the rate in requests a second."""


@dataclass(frozen=True)
class Peer:
    """A load generator of others."""

    name: str
    program: str
    kinds: tuple[Kind, ...]
    command: CommandLine
    read: Callable[[str], Reading]
    version: tuple[str, ...]
    """The arguments that make it print its version."""
    paced: Mapping[str, Paced] = field(default_factory=dict)
    """By the options that hold it at a rate; empty where it has none."""

    @property
    def path(self) -> str | None:
        """Where its program is; None where it is not installed."""
        return shutil.which(self.program, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")

    def version_text(self) -> str:
        """Its version alone; empty where it prints none."""
        text = subprocess.run([self.path or self.program, *self.version], capture_output=True, text=True, check=False)
        found = re.search(r"\d+\.\d+(\.\d+)?", text.stdout + text.stderr)
        return found[0] if found else ""


_REDIS: tuple[Kind, ...] = ("GET", "SET", "JSON.SET")
_MIXED: tuple[Kind, ...] = (*_REDIS, "GET and SET")
_HTTP: tuple[Kind, ...] = ("HTTP", "HTTP chunked")
_HTTPS: tuple[Kind, ...] = (*_HTTP, "HTTPS")
PEERS = (
    Peer("redis-benchmark", "redis-benchmark", _REDIS, redis_peers.redis_benchmark, redis_peers.read_redis_benchmark,
         ("--version",)),
    Peer("valkey-benchmark", "valkey-benchmark", _REDIS, redis_peers.redis_benchmark, redis_peers.read_valkey_benchmark,
         ("--version",), {"--rps": redis_peers.valkey_benchmark_paced}),
    Peer("memtier_benchmark", "memtier_benchmark", _MIXED, redis_peers.memtier, redis_peers.read_memtier,
         ("--version",), {"--rate-limiting": redis_peers.memtier_paced}),
    Peer("wrk", "wrk", _HTTPS, http_peers.wrk, http_peers.read_wrk, ("-v",)),
    Peer("oha", "oha", _HTTPS, http_peers.oha, http_peers.read_oha, ("--version",),
         {"-q": http_peers.oha_paced, "-q, --latency-correction": http_peers.oha_corrected}),
    Peer("hey", "hey", _HTTP, http_peers.hey, http_peers.read_hey, ("-h",), {"-q": http_peers.hey_paced}),
    Peer("k6", "k6", _HTTP, http_peers.k6, http_peers.read_k6, ("version",),
         {"constant-arrival-rate": http_peers.k6_paced}),
)  # fmt: skip


def installed(names: Iterable[str] = ()) -> tuple[Peer, ...]:
    """Those that are installed; of these names if there are any."""
    chosen = set(names)
    return tuple(peer for peer in PEERS if peer.path is not None and (not chosen or peer.name in chosen))


def run_peer(peer: Peer, command: Sequence[str], cpus: Sequence[int], seconds: float) -> tuple[Child, Reading]:
    """Run it once. Raises UnreadableOutput, CalledProcessError or TimeoutExpired."""
    done = run_child(command, cpus, seconds)
    return done, peer.read(done.text)
