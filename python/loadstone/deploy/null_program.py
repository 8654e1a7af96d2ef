"""The program of the null server's process: options in, port out, both one line of JSON; it ends with its input.

One that records prints a last line then: when each reply left.

It imports no more than the engine, since one is started for each kind of load, between trials.
"""

import json
import os
import sys

from loadstone import _engine


def main() -> None:
    """Serve on `cpus` by `options` until standard input is closed."""
    request = json.loads(sys.stdin.readline())
    if request["cpus"] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, request["cpus"])
    try:
        server = _engine.NullServer(json.dumps(request["options"]))
    except Exception as error:
        print(json.dumps({"failed": str(error)}), flush=True)
        return
    print(json.dumps({"port": server.port}), flush=True)
    sys.stdin.read()
    server.stop()
    if request["options"].get("record"):
        print(json.dumps({"left_unix_ns": server.left_unix_ns()}), flush=True)


if __name__ == "__main__":
    main()
