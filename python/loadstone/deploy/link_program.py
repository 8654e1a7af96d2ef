"""The program of a line's process: options in, port out, then orders and answers, each one line of JSON.

It ends with its input. It imports no more than the engine.
"""

import json
import os
import sys
from typing import Any

from loadstone import _engine


def main() -> None:
    """Forward on `cpus` by `options` until standard input is closed."""
    request = json.loads(sys.stdin.readline())
    if request["cpus"] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, request["cpus"])
    try:
        link = _engine.Link(json.dumps(request["options"]))
    except Exception as error:
        _answer({"failed": str(error)})
        return
    _answer({"port": link.port})
    for line in sys.stdin:
        try:
            _answer(_obeyed(link, json.loads(line)))
        except Exception as error:
            _answer({"failed": str(error)})
    link.stop()


def _obeyed(link: _engine.Link, order: dict[str, Any]) -> dict[str, Any]:
    """What came of an order: `drop` so many connections, `lead_to` a host and port, or `report`."""
    if "drop" in order:
        return {"dropped": link.drop_connections(order["drop"])}
    if "lead_to" in order:
        link.lead_to(*order["lead_to"])
        return {}
    return dict(json.loads(link.report()))


def _answer(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()
