"""Checks a driver on what goes wrong: plans it cannot carry out, servers that are gone or hostile, a dead parent."""

import contextlib
import os
import secrets
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle
from pathlib import Path

from loadstone.addons.driver_contract.lab import SET, VALUE, Lab, ScriptedRedis, of, require, scripted
from loadstone.drivers.driver import drive_alone
from loadstone.experiment.plan.drive_plan import Closed, Phases, Plan, Pool, Timeouts
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation
from loadstone.machine import process_table
from loadstone.programs.build import built
from loadstone.programs.clients.guarded_program import GuardedProgram
from loadstone.programs.clients.messages import Failed, PlanMessage, ReadyMessage
from loadstone.programs.clients.program import DriverDied, DriverRefused, MessageLines
from loadstone.safety.errors import DriveFailed
from loadstone.servers import registry
from loadstone.servers.server import DeployContext

ANSWER_S = 20.0
WRONG_ARGUMENTS = ("{colour}", "{", "a}", "{uniform 5..4}", "{random 0 lowercase}", "{random 10}", "{data.x}")
WRONG = {"protocol": ('"resp2"', '"http1"'), "acknowledged": ("false", "true")}
"""Fields with a value, and with one that no driver of a Redis claims: it must not drive something else unseen."""


def bad_plans(lab: Lab) -> str:
    """Lines that are not plans, and plans that cannot be driven, are refused in one line; nothing hangs."""
    good = PlanMessage(plan=lab.plan(SET), options=lab.chosen.options).model_dump_json()
    lines = dict.fromkeys(("this is no JSON", '{"type":"plan","format":1}', '{"type":"start"}'), "")
    lines |= {good.replace("{document}", wrong): "operations[0].commands[0].args[2]" for wrong in WRONG_ARGUMENTS}
    lines |= {
        good.replace(f'"{field}":{right}', f'"{field}":{wrong}'): field for field, (right, wrong) in WRONG.items()
    }
    first, *others = lines
    answers = [_answer(lab, first)]  # alone: of a program that does not even start the log is then its own
    with ThreadPoolExecutor(4) as beside:  # most of it is the start of a program
        answers += beside.map(partial(_answer, lab), others)
    for (line, named), failed in zip(lines.items(), answers, strict=True):
        what = f"a plan with a wrong {named}" if named else repr(line)
        require(isinstance(failed, Failed), f"to {what} it wrote '{failed.type}', where 'failed' is expected")
        said = failed.message  # type: ignore[union-attr]
        require("\n" not in said, "its message has several lines")
        require(named in said, f"its message does not name {named}, which is wrong: {said}")
    return f"{len(lines)} plans refused in a line, by the field that is wrong"


def _answer(lab: Lab, line: str) -> Failed | ReadyMessage:
    program = _program(lab, lab.plan(SET))
    try:
        with contextlib.suppress(BrokenPipeError):  # its output says why
            program.write(line.encode() + b"\n")
        return MessageLines(lab.chosen.manifest.name, program).next(ANSWER_S, lambda: None, "answer")  # type: ignore[return-value]
    finally:
        program.end()


def _program(lab: Lab, plan: Plan) -> GuardedProgram:
    return GuardedProgram(lab.chosen.manifest, _place(lab), plan.cpus, lab.context)


def no_server(lab: Lab) -> str:
    """Where no one listens, and with a wrong password, it fails in one line with the server's message."""
    nowhere = lab.endpoint.model_copy(update={"port": _free_port()})
    stranger = lab.endpoint.model_copy(update={"password": secrets.token_hex(16)})
    with ThreadPoolExecutor(2) as beside:
        plans = [lab.plan(SET, endpoint=endpoint) for endpoint in (nowhere, stranger)]
        refused, denied = beside.map(partial(_refusal, lab), plans)
    known = any(word in denied.upper() for word in ("WRONGPASS", "NOAUTH", "INVALID"))
    require(known, f"with a wrong password it does not say what the server said: {denied}")
    return refused[:80]


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _refusal(lab: Lab, plan: Plan) -> str:
    try:
        record = drive_alone(lab.client.driver, plan)
    except DriverRefused as refused:
        return str(refused).partition(": ")[2]
    require(False, f"it drove {record.total.ok} operations, where it cannot connect")
    return ""


def secrets_are_kept(lab: Lab) -> str:
    """The password is in no argument, no variable, no log and no file of it."""
    password = lab.endpoint.password
    require(bool(password), "the Redis has no password")
    leaks: list[str] = []
    secret = (password or "").encode()

    def look(_: object) -> None:
        for pid in process_table.tree(lab.guards) - lab.guards:
            for name in ("cmdline", "environ"):
                with contextlib.suppress(OSError):  # it ended
                    if secret in Path(f"/proc/{pid}/{name}").read_bytes():
                        leaks.append(f"{name} of {Path(f'/proc/{pid}/comm').read_text().strip()}")

    began_s = time.time()
    drive_alone(lab.client.driver, lab.plan(SET), look)
    lab.forget()
    require(not leaks, f"it stands in {', '.join(sorted(set(leaks)))}")
    logs = list((lab.context.log_folder or Path("/nonexistent")).glob("driver-*.log"))
    files = [file for file in _place(lab).rglob("*") if file.is_file() and file.stat().st_mtime >= began_s - 1]
    written = [file.name for file in (*logs, *files) if secret in file.read_bytes()]
    require(not written, f"it stands in {', '.join(written)}")
    return "in no argument, variable, log or file of its folder"


def _place(lab: Lab) -> Path:
    """Where it was built."""
    return built(lab.chosen.manifest, lab.chosen.folder, lab.context, "driver", lab.chosen.other)


def parent_gone(lab: Lab) -> str:
    """When its input ends it ends, too, in two seconds."""
    program = _driving(lab)
    pid = program.pid
    began_s = time.monotonic()
    program.close_input()
    while pid is not None and process_table.cpu_ns(pid) is not None and time.monotonic() - began_s < ANSWER_S:
        program.read(0.05)
    took = time.monotonic() - began_s
    program.end()
    lab.forget()
    require(took < 3.0, f"it went on for {took:.1f} s")
    return f"{took:.2f} s after the end of its input"


def _driving(lab: Lab) -> GuardedProgram:
    """The program in the middle of a long plan."""
    phases = lab.plan(SET).phases.model_copy(update={"measure_s": 100.0})
    plan = lab.plan(SET, phases=phases)
    program = _program(lab, plan)
    try:
        with contextlib.suppress(BrokenPipeError):  # its output says why
            program.write(PlanMessage(plan=plan, options=lab.chosen.options).model_dump_json().encode() + b"\n")
        lines = MessageLines(lab.chosen.manifest.name, program)
        within_s = lab.chosen.manifest.run.ready_within_s
        message = lines.next(within_s, lambda: None, "word that it is ready")
        require(isinstance(message, ReadyMessage), f"it wrote '{message.type}' where 'ready' is expected")
        lines.next(within_s, lambda: None, "interval")
    except BaseException:
        program.end()
        raise
    return program


def killed(lab: Lab) -> str:
    """Killed in the middle it is found to have died, and no process of it stays."""
    killed: set[int] = set()

    def kill(_: object) -> None:
        for pid in process_table.tree(lab.guards) - lab.guards - killed:
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)

    phases = lab.plan(SET).phases.model_copy(update={"measure_s": 30.0})
    try:
        drive_alone(lab.client.driver, lab.plan(SET, phases=phases), kill)
    except DriverDied as died:
        lab.forget()
        require(bool(killed), f"it was not killed yet: {str(died).partition(': ')[2]}")
        require(_waited(lambda: not killed & set(process_table.pids())), "processes of it stay")
        return str(died).partition(": ")[2][:80]
    lab.forget()
    require(False, "it went on after it was killed")
    return ""


def _waited(is_so: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + 5.0
    while not is_so() and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return is_so()


def server_gone(lab: Lab) -> str:
    """A server that dies ends the drive in some seconds, with errors or with a reason; nothing hangs."""
    server = registry.make_server("redis", {"kind": "embedded"})
    endpoint = server.start(DeployContext(work_root=lab.context.work_root))
    began_s = 0.0

    def stop(_: object) -> None:
        nonlocal began_s
        if not began_s:
            server.stop()
            began_s = time.monotonic()

    phases = lab.plan(SET).phases.model_copy(update={"measure_s": 60.0})
    timeouts = Timeouts(gone_s=1.0)
    plan = lab.plan(SET, endpoint=endpoint, phases=phases, timeouts=timeouts)
    try:
        record = drive_alone(lab.client.driver, plan, stop)
    except DriverRefused as refused:
        return str(refused).partition(": ")[2][:80]
    finally:
        server.stop()
    took = time.monotonic() - began_s
    require(record.stopped is not None, f"it went on for {took:.0f} s, {record.total.errors}")
    require(took < plan.timeouts.gone_s + 10, f"it took {took:.1f} s to give up")
    return f"{record.stopped}"[:80]


def refused_commands(lab: Lab) -> str:
    """A command that the server refuses is an error of the operation, and the load goes on."""
    record = lab.drive(lab.plan(of("bad", "LOADSTONE.NONE", "{key}", expect="ok")))
    errors = record.total.errors.get("server_err", 0)
    require(errors == record.total.sent > 0, f"{errors} of {record.total.sent} are 'server_err': {record.total.errors}")
    return f"{errors} of {record.total.sent} operations are 'server_err'"


PAYLOAD_BYTES = 100
GOOD = b"$%d\r\n%s\r\n" % (PAYLOAD_BYTES, b"x" * PAYLOAD_BYTES)
ELSEWHERE = "127.0.0.2"
"""Another host, as far as an address tells: it is this machine's, too."""
PASSWORD = "the-password-of-the-contract"
CONNECT_MS, REQUEST_MS = 1000.0, 500.0
SAID_MAX = 700
"""Longest message, in characters, that a person may still read."""
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
"""An operation of which no reply above is a correct one, whatever a library makes of it."""


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
