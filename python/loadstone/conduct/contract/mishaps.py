"""Checks a driver on what goes wrong: plans it cannot carry out, servers that are gone, a dead parent."""

import contextlib
import os
import secrets
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from loadstone import registry
from loadstone.conduct.contract.lab import SET, Lab, of, require
from loadstone.deploy.client_program import GuardedProgram
from loadstone.deploy.provider import DeployContext
from loadstone.deploy.subjects.build import built
from loadstone.drive.driver import drive_alone
from loadstone.drive.programs.messages import Failed, PlanMessage, Ready
from loadstone.drive.programs.program import DriverDied, DriverRefused, MessageLines
from loadstone.machine import process_table
from loadstone.plan.drive_plan import Plan, Timeouts

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


def _answer(lab: Lab, line: str) -> Failed | Ready:
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
        program.write(PlanMessage(plan=plan, options=lab.chosen.options).model_dump_json().encode() + b"\n")
        lines = MessageLines(lab.chosen.manifest.name, program)
        within_s = lab.chosen.manifest.run.ready_within_s
        message = lines.next(within_s, lambda: None, "word that it is ready")
        require(isinstance(message, Ready), f"it wrote '{message.type}' where 'ready' is expected")
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
    server = registry.server("redis", {"kind": "embedded"})
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
