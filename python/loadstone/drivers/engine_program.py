"""The program of a null server's or a line's process (`null` or `link`): options in, port out, then orders and answers.

Each is one line of JSON, and it ends with its input. It imports no more than the engine, since a null server is started
for each kind of load, between trials.
"""

import json
import os
import sys
from typing import Any

from loadstone import _engine


def main() -> None:
    """Serve on `cpus` by `options` until standard input is closed."""
    request = json.loads(sys.stdin.readline())
    if request["cpus"] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, request["cpus"])
    kind = _engine.Link if sys.argv[1:] == ["link"] else _engine.NullServer
    try:
        made = kind(json.dumps(request["options"]))
    except Exception as error:
        _answer({"failed": str(error)})
        return
    _answer({"port": made.port})
    for line in sys.stdin:
        try:
            _answer(_obeyed(made, json.loads(line)))
        except Exception as error:
            _answer({"failed": str(error)})
    made.stop()
    if isinstance(made, _engine.NullServer) and request["options"].get("record"):
        _answer({"left_unix_ns": made.left_unix_ns()})


def _obeyed(made: _engine.Link | _engine.NullServer, order: dict[str, Any]) -> dict[str, Any]:
    """What came of an order to a line: `drop` so many connections, `lead_to` a host and port, or `report`."""
    if isinstance(made, _engine.NullServer):
        return {"failed": "a null server takes no orders"}
    if "drop" in order:
        return {"dropped": made.drop_connections(order["drop"])}
    if "lead_to" in order:
        made.lead_to(*order["lead_to"])
        return {}
    return dict(json.loads(made.report()))


def _answer(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()
