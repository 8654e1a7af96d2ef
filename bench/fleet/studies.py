"""A study with its servers, its application and its agents on a host each: what stands in its report, as root.

    scripts/bench fleet-studies jedis-vs-lettuce --only library=none
    scripts/bench fleet-studies aof-modes

Hosts are network namespaces (`fleet.namespaces`); the command is on this machine. Options go to `loadstone run`.
"""

import os
import subprocess
import sys
from collections.abc import Sequence

from bench.fleet.members import LOADSTONE, members
from bench.fleet.namespaces import Network

AGENTS = ("agent-1", "agent-2")
PARTS = {
    "jedis-vs-lettuce": {"redis": "db-1", "mariadb": "db-2", "spring": "app-1"},
    "aof-modes": {"redis": "db-1", "redis-alone": "db-1", "mariadb": "db-2", "spring": "app-1"},
}
"""Study -> server or application -> its host. Of `aof-modes` the server that is killed stays on this machine."""


def main(study: str, options: Sequence[str]) -> int:
    """Run it; the exit status of `loadstone run`."""
    hosts = dict.fromkeys(PARTS[study].values())
    placed = [word for part, host in PARTS[study].items() for word in ("--host", f"{part}={host}")]
    with (
        Network(("scheduler", *AGENTS, *hosts)) as network,
        members(network, "scheduler", AGENTS, {host: host for host in hosts}) as fleet,
    ):
        words = ["run", study, "--quick", "--fleet", f"{fleet.address}?agents={len(AGENTS)}", *placed, *options]
        return subprocess.call([*LOADSTONE, *words], env={**os.environ, **fleet.environment})


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in PARTS:
        sys.exit(f"name a study: {', '.join(PARTS)}")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
