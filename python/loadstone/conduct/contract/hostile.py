"""Checks a driver on hostile and broken servers: it stays at its host, reports what came, and ends."""

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle

from loadstone.conduct.contract.lab import VALUE, Lab, of, require
from loadstone.conduct.contract.scripted import ScriptedRedis, scripted
from loadstone.drive.driver import drive_alone
from loadstone.drive.programs.program import DriverRefused
from loadstone.errors import DriveFailed
from loadstone.plan.drive_plan import Closed, Phases, Plan, Pool, Timeouts
from loadstone.plan.endpoints import Endpoint
from loadstone.plan.operations import Operation

PAYLOAD_BYTES = 100
GOOD = b"$%d\r\n%s\r\n" % (PAYLOAD_BYTES, b"x" * PAYLOAD_BYTES)
ELSEWHERE = "127.0.0.2"
"""Another host, as far as an address tells: it is this machine's, too."""
PASSWORD = "the-password-of-the-contract"
CONNECT_MS, REQUEST_MS = 1000.0, 500.0
SAID_MAX = 700
"""So long is a message that a person may still read."""
LATE_S = 20.0
"""How much longer than planned a drive may take on a busy machine, the start of the program included."""
NESTED = 100_000
UNREADABLE = {
    "lists in lists": b"*1\r\n" * NESTED + b"+x\r\n",
    "a list of 2^31": b"*2147483648\r\n+x\r\n",
    "a list of 2^60": b"*1152921504606846976\r\n+x\r\n",
    "a length that is negative": b"$-7\r\n",
    "an error of 1 MB": b"-ERR " + b"y" * (1 << 20) + b"\r\n",
    "bytes of another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
}

COUNT = of("count", "INCR", "{key}", expect="positive")
"""Of which no reply above is a correct one, whatever a library makes of it."""


def _plan(lab: Lab, port: int, measure_s: float, protocol: str, operation: Operation = VALUE) -> Plan:
    return lab.plan(
        operation,
        endpoint=Endpoint(port=port, password=PASSWORD),
        model=Closed(users=2),
        pool=Pool(connections=2),
        phases=Phases(warm_up_s=0.0, measure_s=measure_s, drain_s=1.0),
        timeouts=Timeouts(connect_ms=CONNECT_MS, request_ms=REQUEST_MS, gone_s=1.0),
        protocol=protocol,
    )


def stays_at_its_host(lab: Lab) -> str:
    """No reply and no notice sends it, or the password, to a host that the plan does not name.

    MOVED and ASK are for clients of a cluster. A notice of maintenance (`MOVING`, pushed over RESP3) sends a client
    that obeys it elsewhere, and there it logs in.
    """
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(scripted(lambda _: GOOD))]
        here = stack.enter_context(scripted(lambda _: next(answers)))
        with contextlib.suppress(OSError):  # not every machine has all of 127.0.0.0/8
            # A client may keep its port, and take the host alone.
            others.append(ScriptedRedis(lambda _: GOOD, address=(ELSEWHERE, here.port)))
            stack.callback(others[-1].close)
        places = [b"127.0.0.1:%d" % others[0].port, b"%s:%d" % (ELSEWHERE.encode(), here.port)]
        orders = [b"-%s 1234 %s\r\n" % (word, place) for word in (b"MOVED", b"ASK") for place in places]
        resp3 = "resp3" in lab.chosen.manifest.can.protocols
        if resp3:
            orders += [b">4\r\n+MOVING\r\n:%d\r\n:1\r\n+%s\r\n%s" % (n, at, GOOD) for n, at in enumerate(places, 1)]
        answers = cycle([*orders, *[GOOD] * 100])
        with contextlib.suppress(DriveFailed):  # it may take the notices for nonsense
            lab.drive(_plan(lab, here.port, 1.2, "resp3" if resp3 else "resp2"))
        for other in others:
            told = [b" ".join(command).decode(errors="replace") for command in other.commands]
            logged_in = ", with the password" if any(PASSWORD in line for line in told) else ""
            sent = f"a server sent it to another host, and it went there{logged_in}"
            require(not told, f"{sent}: what is not in the plan must not be connected to")
    return f"{len(orders)} orders to go elsewhere, none followed"


def greeting_unanswered(lab: Lab) -> str:
    """A server that accepts the connection and says nothing is named as what it is, in the time of connecting."""
    with scripted(lambda _: GOOD, lambda _: None) as frozen:
        said, took_s = _refused(lab, frozen.port)
    require(str(frozen.port) in said, f"its message does not name the server: {said}")
    told = any(word in said.lower() for word in ("time", "no answer", "not answer"))
    require(told, f"its message does not say that the server does not answer: {said}")
    return f"{took_s:.1f} s: {said[:80]}"


def refused_at_length(lab: Lab) -> str:
    """An error of 1 MB in place of a greeting becomes a line that can be read, without what a terminal obeys."""
    with scripted(lambda _: GOOD, lambda _: b"-ERR \x1b[2J" + b"y" * (1 << 20) + b"\r\n") as server:
        said, _ = _refused(lab, server.port)
    require(len(said) <= SAID_MAX, f"its message has {len(said)} letters")
    require("\x1b" not in said, "its message holds a terminal's orders")
    return said[:80]


def _refused(lab: Lab, port: int) -> tuple[str, float]:
    """What it says in place of driving, and after how many seconds."""
    began_s = time.monotonic()
    try:
        record = lab.drive(_plan(lab, port, 0.3, "resp2"))
    except DriverRefused as refused:
        return str(refused), time.monotonic() - began_s
    require(False, f"it drove {record.total.ok} operations with a server that did not greet it")
    return "", 0.0


def unreadable_replies(lab: Lab) -> str:
    """Replies that are none, of every kind, are errors of their operations: it neither hangs nor breaks off unheard."""
    with ThreadPoolExecutor(3) as beside:  # most of it is waiting
        list(beside.map(partial(_unreadable, lab), UNREADABLE))
    return f"{len(UNREADABLE)} kinds, all counted as errors"


def _unreadable(lab: Lab, what: str) -> None:
    began_s = time.monotonic()
    with scripted(lambda _: UNREADABLE[what]) as server:
        try:
            total = drive_alone(lab.client.driver, _plan(lab, server.port, 0.3, "resp2", COUNT)).total
        except DriveFailed as failed:
            # Where a library makes room for what is only announced, the runtime may end; then it says of what.
            require("memory" in str(failed).lower(), f"{what}: it broke off: {str(failed)[:200]}")
            return
    took_s = time.monotonic() - began_s
    require(total.ok == 0, f"{what}: {total.ok} count as correct")
    require(total.sent > 0, f"{what}: nothing was sent")
    require(took_s < LATE_S, f"{what}: it took {took_s:.3g} s")
