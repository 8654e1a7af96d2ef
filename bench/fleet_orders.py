"""An order to all agents, an agent after the other or at once: time, bytes of the command, and CPU.

    python bench/fleet_orders.py [--agents 4,100] [--rounds 20] [--out FILE]

The scheduler, the command and what they send are the real ones, with TLS; the agents are real members, too, but all in
one process, which makes the time until all answered an upper bound.
"""

import argparse
import asyncio
import concurrent.futures
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
from fleet.members import LOADSTONE
from result_lines import add_line

from loadstone.addons.fleet import agent as on_agent
from loadstone.addons.fleet import certificates, dask_library, serving
from loadstone.addons.fleet.dask_cluster import DaskCluster, open_cluster
from loadstone.addons.fleet.identity import own_identity
from loadstone.addons.fleet.spec import read_fleet
from loadstone.machine.ports import free_port

START_S = 120.0
DRIVE = "0123456789abcdef"


async def be_members(number: int, address: str, folder: Path) -> None:
    """So many members in this process, until its input ends."""
    identity, credential = own_identity("agent").model_dump(), certificates.read(folder, "agent")
    async with contextlib.AsyncExitStack() as held:
        for at in range(number):
            name = f"agent-{at:03d}"
            await held.enter_async_context(serving._joined(address, name, credential, identity, ("127.0.0.1", 0), None))
        print("joined", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def one_by_one(cluster: DaskCluster) -> None:
    """As an order was sent before: each agent its own, all answers waited for."""
    asked = [cluster._ask(member, on_agent.renew, [DRIVE, 5.0]) for member in cluster.members]
    concurrent.futures.wait(asked, 30)


def at_once(cluster: DaskCluster) -> None:
    """As `send_all`, but waited for."""
    cluster._run(cluster._sent_all(cluster.members, on_agent.renew, [DRIVE, 5.0])).result(30)


def measured(cluster: DaskCluster, scheduler: int, port: int, rounds: int) -> list[dict[str, Any]]:
    """Both ways in turns."""
    ways: dict[str, Callable[[DaskCluster], None]] = {"one by one": one_by_one, "at once": at_once}
    found: dict[str, list[tuple[float, float, float, int]]] = {name: [] for name in ways}
    for number in range(2 * rounds + 2):
        name = list(ways)[(number + number // 2) % 2]
        before = time.monotonic(), _cpu_s(os.getpid()), _cpu_s(scheduler), sent_bytes(port)
        ways[name](cluster)
        after = time.monotonic(), _cpu_s(os.getpid()), _cpu_s(scheduler), sent_bytes(port)
        if number >= 2:  # the first of each opens connections
            found[name].append(tuple(a - b for a, b in zip(after, before, strict=True)))  # type: ignore[arg-type]
    results = []
    for name, each in found.items():
        times, own, its, sent = (sorted(column) for column in zip(*each, strict=True))
        agents = len(cluster.members)
        results.append(
            {
                "agents": agents,
                "way": name,
                "all_answered_ms": round(1e3 * times[len(times) // 2], 1),
                "at_most_ms": round(1e3 * times[-1], 1),
                "command_us_an_agent": round(1e6 * sum(own) / len(own) / agents),
                "scheduler_us_an_agent": round(1e6 * sum(its) / len(its) / agents),
                "bytes_of_the_command": sent[len(sent) // 2],
            }
        )
    return results


def sent_bytes(port: int) -> int:
    """That this process sent to the scheduler, as the kernel counts them."""
    listed = subprocess.run(["ss", "-tinHOp", "dport", f"= :{port}"], capture_output=True, text=True, check=True)
    own = [line for line in listed.stdout.splitlines() if f"pid={os.getpid()}," in line]
    return sum(int(found[1]) for line in own if (found := re.search(r"bytes_sent:(\d+)", line)))


def _cpu_s(pid: int) -> float:
    """To the nanosecond: the kernel's ticks of 10 ms are too coarse for one order."""
    ran = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            ran += int((thread / "schedstat").read_text().split()[0])
    return ran / 1e9


def of(number: int, rounds: int) -> list[dict[str, Any]]:
    """A cluster of so many agents."""
    with tempfile.TemporaryDirectory() as text, contextlib.ExitStack() as held:
        folder, port = Path(text), free_port()
        certificates.write(folder, certificates.made())
        address = f"tls://127.0.0.1:{port}"
        around = {**os.environ, certificates.FOLDER_VARIABLE: text}
        command = [*LOADSTONE, "fleet", "scheduler", "--listen", f"127.0.0.1:{port}"]
        scheduler = psutil.Popen(command, env=around, stderr=subprocess.DEVNULL)
        held.callback(scheduler.terminate)
        while not any(one.laddr.port == port for one in scheduler.net_connections()):
            time.sleep(0.05)
        command = [sys.executable, __file__, "--members", str(number), "--at", address, "--folder", text]
        agents = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        held.callback(agents.kill)
        assert agents.stdout is not None
        if agents.stdout.readline().strip() != "joined":
            raise RuntimeError("the members did not join")
        cluster = open_cluster(read_fleet(f"{address}?agents={number}"), folder=folder)
        try:
            return measured(cluster, scheduler.pid, port, rounds)
        finally:
            cluster.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", default="4,100")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--out", type=Path, help="where the results are added, a line each")
    parser.add_argument("--members", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--at", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.members is not None:
        with dask_library.set_up(options.folder):
            asyncio.run(be_members(options.members, options.at, options.folder))
        return
    for number in map(int, options.agents.split(",")):
        for line in of(number, options.rounds):
            print(json.dumps(line), flush=True)
            if options.out is not None:
                add_line(options.out, {"date": datetime.now(UTC).date().isoformat(), **line})


if __name__ == "__main__":
    main()
