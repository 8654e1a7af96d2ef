"""What a driver's program may write, and what becomes of it: scripted bytes behind the real seam."""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from loadstone.drivers.driver import RoundsOptions, drive_alone
from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.programs.clients import plausible_record, program_driver
from loadstone.programs.clients.messages import MESSAGE, PlanMessage
from loadstone.programs.clients.program import (
    DriverBroken,
    DriverDied,
    DriverHung,
    DriverImplausible,
    DriverRefused,
)
from loadstone.programs.clients.program_driver import ProgramDriver
from loadstone.safety.errors import DriveFailed

EXAMPLES = Path(__file__).parents[2] / "examples" / "driver"
SHARE = Plan.model_validate(
    {
        "endpoints": [{"password": "hunter2"}],
        "model": {"kind": "closed", "users": 8},
        "pool": {"connections": 16},
        "phases": {"warm_up_s": 1, "measure_s": 1},
        "interval_s": 0.1,
        "operations": [
            {
                "name": "set",
                "commands": [{"args": ["JSON.SET", "{key}", "$", "{document}"], "expect": "ok"}],
                "writes": "document",
            }
        ],
    }
)


def example(name: str) -> dict[str, Any]:
    return dict(json.loads((EXAMPLES / f"{name}.json").read_text()))


READY, INTERVAL, RECORD, FAILED = (example(name) for name in ("ready", "interval", "record", "failed"))
COUNTS = RECORD["total"]


@dataclass
class ScriptedProgram:
    """Writes pieces one after the other; `b""` is the end of its output, None is silence."""

    pieces: list[bytes | None]
    sent: list[bytes] = field(default_factory=list)
    ended: int = 0
    pid: int | None = None
    guard_pid: int | None = None
    refuses: bool = False

    def write(self, line: bytes) -> None:
        if self.refuses:
            raise BrokenPipeError
        self.sent.append(line)

    def read(self, timeout_s: float) -> bytes | None:
        piece = self.pieces.pop(0) if self.pieces else None
        if piece is None:
            time.sleep(min(timeout_s, 0.01))
        return piece

    def end(self) -> str:
        self.ended += 1
        return "it was killed by signal 9 (SIGKILL)"


def lines(*messages: object) -> list[bytes | None]:
    return [one if isinstance(one, bytes) or one is None else json.dumps(one).encode() + b"\n" for one in messages]


def drive(*messages: object, share: Plan = SHARE, taken: Callable[[Interval], None] = lambda _: None) -> Any:
    program = ScriptedProgram(lines(*messages))
    driver = ProgramDriver("go-redis", lambda _: program, {"mode": "fast"}, ready_within_s=0.2)
    try:
        return drive_alone(driver, share, taken)
    finally:
        assert program.ended
        assert [json.loads(line)["type"] for line in program.sent][:1] == ["plan"]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_driver, "SILENCE_S", 0.2)
    monkeypatch.setattr(program_driver, "_start_s", lambda _: 0.0)
    monkeypatch.setattr(plausible_record, "CLOCKS_OFF_S", float("inf"))  # the examples are of another day


def without(message: dict[str, Any], *path: str, put: Any = None) -> dict[str, Any]:
    """A copy in which what stands at the path is another value, or is not there."""
    copy: dict[str, Any] = json.loads(json.dumps(message))
    at = copy
    for part in path[:-1]:
        at = at[part]
    if put is None:
        del at[path[-1]]
    else:
        at[path[-1]] = put
    return copy


@pytest.mark.parametrize("name", ["ready", "interval", "record", "failed"])
def test_every_example_is_a_message(name: str) -> None:
    MESSAGE.validate_json((EXAMPLES / f"{name}.json").read_bytes())


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("plan-*.json")), ids=lambda path: path.stem)
def test_every_example_of_a_plan_is_what_a_program_is_sent(path: Path) -> None:
    assert PlanMessage.model_validate_json(path.read_bytes()).model_dump_json() + "\n" == path.read_text()


def test_what_it_reports_becomes_intervals_and_a_record() -> None:
    taken: list[Interval] = []
    record = drive(READY, INTERVAL, RECORD, taken=taken.append)
    assert (taken[0].index, taken[0].phase, taken[0].connections) == (0, "measure", 16)
    assert taken[0].operations["set"].response_ns.count == 3
    assert record.engine == "go-redis 9.7.0 go1.24.1"
    assert (record.program.name, record.program.options) == ("go-redis", {"mode": "fast"})
    assert record.program.reports_pool_wait
    assert record.measure_s == 1.0
    assert record.operations["set"].response_ns.p50 == pytest.approx(200_000, rel=0.001)
    assert record.operations["set"].response_ns.mean == pytest.approx(200_000, rel=0.001)
    assert record.pool_wait_ns.count == 4
    assert record.connections.planned == 16
    assert (record.bytes_sent, record.stopped) == (0, None)


def test_a_library_that_does_not_report_its_pool_wait_has_none() -> None:
    record = drive(READY, without(RECORD, "pool_wait_histogram") | {"pool_wait_histogram": None})
    assert record.pool_wait_ns.count == 0
    assert not record.program.reports_pool_wait


def test_pieces_of_lines_are_put_together() -> None:
    whole = b"".join(one for one in lines(READY, INTERVAL, RECORD) if one)
    pieces = [whole[at : at + 100] for at in range(0, len(whole), 100)]
    assert drive(*pieces).stopped is None


@pytest.mark.parametrize(
    ("messages", "fault", "said"),
    [
        ((), DriverHung, "no word that it is ready for"),
        ((READY, INTERVAL), DriverHung, "no message for"),
        ((READY, INTERVAL, b""), DriverDied, "it ended before its record: it was killed by signal 9"),
        ((b"",), DriverDied, "it ended before its record"),
        ((READY, b"panic: runtime error\n"), DriverBroken, "what is no message: panic: runtime error"),
        ((READY, b'{"type":"interval"}\n'), DriverBroken, "(interval.phase: Field required)"),
        ((READY, b"\xff\xfe\x00\n"), DriverBroken, "what is no message"),
        ((INTERVAL,), DriverBroken, "it wrote 'interval' where 'ready' is expected"),
        ((READY, READY), DriverBroken, "it wrote 'ready' where 'interval' is expected"),
        ((FAILED,), DriverRefused, "WRONGPASS invalid username-password pair"),
        ((READY, FAILED), DriverRefused, "WRONGPASS"),
        ((READY, without(INTERVAL, "operations", "set", "response_histogram", put="AAAA")), DriverBroken, "histogram"),
        ((READY, *[INTERVAL] * 200), DriverBroken, "intervals, and"),
        (
            (READY, without(INTERVAL, "operations", put={"\x1b[2J": INTERVAL["operations"]["set"]})),
            DriverBroken,
            "an interval has operation [2J, and the plan does not",
        ),
        (
            (READY, RECORD | {"commands": {f"C{number}": {"sent": 0, "replied": 0} for number in range(10_001)}}),
            DriverBroken,
            "(record.commands: Dictionary should have at most 10000 items",
        ),
        ((READY | {"version": "\x07 "},), DriverBroken, "(ready.version: "),
        ((FAILED | {"message": "out\x1b[2J\nof luck"},), DriverRefused, "driver go-redis: out [2J of luck"),
    ],
)
def test_what_is_wrong_is_one_line_with_the_reason(
    messages: Iterable[object], fault: type[DriveFailed], said: str
) -> None:
    with pytest.raises(fault) as failed:
        drive(*messages)
    assert said in str(failed.value)
    assert str(failed.value).startswith("driver go-redis: ")
    assert "\n" not in str(failed.value)


def test_a_line_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadstone.programs.clients.program.LONGEST_LINE_BYTES", 1 << 20)
    with pytest.raises(DriverBroken, match="a line of more than 1 MB"):
        drive(READY, *[b"x" * 100_000] * 20)


def test_a_program_that_reads_nothing_says_why_if_it_can() -> None:
    program = ScriptedProgram(lines(FAILED), refuses=True)
    driver = ProgramDriver("go-redis", lambda _: program, {}, ready_within_s=0.2)
    with pytest.raises(DriverRefused, match="WRONGPASS"):
        drive_alone(driver, SHARE)
    assert program.ended


def histogram(count: int, value_ns: int = 200_000) -> str:
    made = HdrHistogram(1, 3_600_000_000_000, 3)
    made.record_value(value_ns, count)
    return str(made.encode().decode())


NAN = json.dumps(INTERVAL).replace('"duration_s": 1.0', '"duration_s": NaN').encode() + b"\n"
HUGE = json.dumps(INTERVAL).replace('"users"', f'"users": {"9" * 10**6}, "others"').encode() + b"\n"


@pytest.mark.parametrize(
    ("hostile", "said"),
    [
        (
            without(INTERVAL, "operations", "set", "response_histogram", put=histogram(10**18)),
            "has 1000000000000000000",
        ),
        (without(INTERVAL, "operations", "set", "service_histogram", put=histogram(4)), "has 4 times, and 3 replies"),
        (without(INTERVAL, "operations", "set", "ok", put=-1), "(interval.operations.set.ok: "),
        (NAN, "(interval.duration_s: "),
        (HUGE, "(Invalid JSON: number out of range"),
        (b"[" * 10**6 + b"\n", "(Invalid JSON: recursion limit exceeded"),
        (b"\0" * 100 + b"\n", "what is no message"),
        (
            RECORD | {"schedule_lag_histogram": histogram(10**18)},
            "schedule_lag_histogram has 1000000000000000000 times",
        ),
        (
            RECORD | {"pool_wait_histogram": histogram(7)},
            "pool_wait_histogram has 7 times, and there were 6 operations",
        ),
    ],
)
def test_figures_that_cannot_be_are_refused(hostile: object, said: str) -> None:
    with pytest.raises(DriverBroken) as failed:
        drive(READY, hostile)
    assert said in str(failed.value)
    assert len(str(failed.value)) < 400


@pytest.mark.fault("a driver's intervals contradict its totals", "the trial is invalid", area="drivers")
def test_intervals_are_of_times_that_passed_and_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plausible_record, "CLOCKS_OFF_S", 2.0)
    with pytest.raises(DriverImplausible, match=r"an interval ends 1,000,000,001 s after the load began, and"):
        drive(READY, without(INTERVAL, "duration_s", put=1e9))
    with pytest.raises(
        DriverImplausible, match="its intervals go back: one begins at 0 s after one that begins at 1 s"
    ):
        drive(READY, without(INTERVAL, "duration_s", put=0.5), without(INTERVAL, "start_s", put=0.0))


@pytest.mark.fault("a driver's intervals contradict its totals")
@pytest.mark.parametrize("what", ["offered", "sent", "timeouts", "dropped"])
def test_there_is_no_more_in_the_intervals_than_in_the_whole_drive(what: str) -> None:
    more = without(INTERVAL, "operations", "set", what, put=1000)
    with pytest.raises(DriverImplausible, match=f"{what}, and 1000 in its intervals"):
        drive(READY, more, RECORD)


BY_ITSELF = Plan.model_validate(
    {**SHARE.model_dump(), "model": {"kind": "closed", "users": 8, "operations_per_user": 1}}
)
IDLE = without(INTERVAL, "operations", put={})


def test_a_load_that_ends_by_itself_has_no_more_operations_than_planned() -> None:
    with pytest.raises(DriverImplausible, match="12 operations ended, and 8 are planned"):
        drive(READY, *[INTERVAL] * 9, share=BY_ITSELF)


@pytest.mark.fault("a driver's load never ends", "it is given up in the time of its plan", area="drivers")
def test_a_load_that_ends_by_itself_and_does_not_go_on_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its intervals come for ever, and nothing else would end it."""
    monkeypatch.setattr(plausible_record, "_patience_s", lambda _: 0.0)
    with pytest.raises(DriverHung, match="it does not end: no operation ended for"):
        drive(READY, *[IDLE] * 90, share=BY_ITSELF)
    assert drive(READY, INTERVAL, RECORD, share=SHARE).stopped is None


@pytest.mark.fault("a driver's load never ends")
def test_one_that_goes_on_after_an_order_to_stop_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_driver, "LATE_S", 0.0)
    program = ScriptedProgram([*lines(READY, INTERVAL), None, *lines(*[IDLE] * 50)])
    driver = ProgramDriver("go-redis", lambda _: program, {}, ready_within_s=0.2)
    with pytest.raises(DriverHung, match="it goes on 0 s after an order to stop"):
        drive_alone(driver, SHARE, lambda _: driver.stop())
    assert program.ended


def test_a_message_of_1_mb_becomes_its_beginning() -> None:
    with pytest.raises(DriverRefused) as refused:
        drive(FAILED | {"message": "ERR \x1b[2J" + "y" * 10**6})
    assert str(refused.value).startswith("driver go-redis: ERR [2Jyyy")
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (without(RECORD, "operations", "set"), "operation set is missing"),
        (without(RECORD, "commands", "JSON.SET"), "command JSON.SET is missing"),
        (without(RECORD, "total", "offered", put=7), "total: 7 offered are not 6 sent"),
        (without(RECORD, "operations", "set", "counts", "ok", put=2), "set: 4 sent are not 3 ended"),
        (without(RECORD, "commands", "JSON.SET", put={"sent": 6, "replied": 7}), "7 replies to 6 sent"),
        (without(RECORD, "commands", put={"JSON.SET": {"sent": 6, "replied": 1}}), "with 1 replies to all commands"),
        (without(RECORD, "phases", "drain"), "phase drain is missing"),
        (without(RECORD, "phases", "measure", "end_s", put=0.5), "a phase ends before it begins"),
        (without(RECORD, "phases", "measure", put={"start_s": 1.0, "end_s": 1.3}), "and 1 s are planned"),
        (without(RECORD, "connections", "open_at_end", put=17), "17 connections are open at the end"),
        (
            without(RECORD, "operations", "set", "window_ok", put=6),
            "window_ok of the measure phase is 6, and the whole",
        ),
        (without(RECORD, "operations", "set", "window_completed", put=3), "4 correct replies of 3 in the measure"),
        (
            without(RECORD, "total", put=COUNTS | {"offered": 3, "sent": 3, "ok": 2}),
            "2 operations ended correctly, and 3",
        ),
    ],
)
def test_a_record_that_contradicts_itself_or_the_plan_is_none(record: dict[str, Any], said: str) -> None:
    with pytest.raises(DriverImplausible) as failed:
        drive(READY, INTERVAL, record)
    assert said in str(failed.value)


def test_a_phase_that_began_late_on_a_busy_machine_is_one() -> None:
    late = without(RECORD, "phases", "measure", put={"start_s": 1.09, "end_s": 2.0})
    late = without(late, "phases", "warm_up", "end_s", put=1.09)
    assert drive(READY, INTERVAL, late).measure_s == pytest.approx(0.91)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": {"kind": "closed", "users": 8, "operations_per_user": 10}}, "6 operations were carried out, and 80"),
        ({"keys": {"count": 50, "distribution": "exactly_once"}}, "6 operations were carried out, and 50"),
        (
            {"model": {"kind": "open", "rate_per_s": 1000}},
            "4 operations arrived in the measure phase, and 1000",
        ),
    ],
)
def test_fewer_operations_than_planned_are_found(changed: dict[str, Any], said: str) -> None:
    share = Plan.model_validate({**SHARE.model_dump(), **changed})
    with pytest.raises(DriverImplausible) as failed:
        drive(READY, INTERVAL, RECORD, share=share)
    assert said in str(failed.value)
    stopped = RECORD | {"stopped": "stopped on request"}
    assert drive(READY, INTERVAL, stopped, share=share).stopped == "stopped on request"


def test_a_histogram_has_a_time_for_each_correct_reply() -> None:
    record = without(RECORD, "operations", "set", "response_histogram", put=RECORD["pool_wait_histogram"])
    with pytest.raises(DriverBroken, match="operation set: a histogram has 4 times, and 3 replies were correct"):
        drive(READY, INTERVAL, record)
    fewer = without(RECORD, "operations", "set", "counts", put=COUNTS | {"ok": 4, "offered": 5, "sent": 5})
    with pytest.raises(DriverBroken, match="a histogram has 3 times, and 4 replies were correct"):
        drive(READY, INTERVAL, fewer)
    assert drive(READY, INTERVAL, fewer | {"overflowed": 2}).overflowed == 2


def test_times_of_another_clock_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plausible_record, "CLOCKS_OFF_S", 2.0)
    now_ns = time.time_ns()
    assert drive(READY, RECORD | {"started_unix_ns": now_ns}).stopped is None
    for changed, said in (
        ({"started_unix_ns": now_ns // 10**6}, "its load began -"),
        ({"started_unix_ns": now_ns + 10**10}, r"its load began (10|9\.\d+) s after it got its plan"),
        ({"started_unix_ns": now_ns, "phases": RECORD["phases"] | {"drain": {"start_s": 2, "end_s": 9}}}, "lasted 9 s"),
    ):
        with pytest.raises(DriverImplausible, match=said):
            drive(READY, RECORD | changed)


def test_a_load_without_an_end_of_its_own_has_no_more_intervals_than_there_is_time_for() -> None:
    model = {"kind": "closed", "users": 8, "operations_per_user": 10}
    share = Plan.model_validate({**SHARE.model_dump(), "model": model})
    with pytest.raises(DriverBroken, match="it wrote 101 intervals, and 100 are the most"):
        drive(READY, *[without(INTERVAL, "operations", put={})] * 200, share=share)


def test_the_library_is_the_one_that_the_manifest_names() -> None:
    def driven(library: str) -> Any:
        program = ScriptedProgram(lines(READY, RECORD))
        return drive_alone(ProgramDriver("go-redis", lambda _: program, {}, 0.2, library), SHARE)

    assert driven("go-redis 9.7.0").program.version == "9.7.0"
    with pytest.raises(DriverImplausible, match=r"names go-redis 9\.8\.0; correct the one that is wrong"):
        driven("go-redis 9.8.0")


def test_an_order_to_stop_is_passed_on_once_and_later_drives_get_it_at_once() -> None:
    stopped = lines(RECORD | {"stopped": "stopped on request"})
    program = ScriptedProgram([*lines(READY, INTERVAL), None, None, *stopped])
    programs = [program, ScriptedProgram([None, *lines(READY), *stopped])]
    driver = ProgramDriver("go-redis", lambda _: programs.pop(0), {}, ready_within_s=0.2)
    assert drive_alone(driver, SHARE, lambda _: driver.stop()).stopped is not None
    assert [json.loads(line)["type"] for line in program.sent] == ["plan", "stop"]
    assert drive_alone(driver, SHARE).stopped is not None


def test_what_the_callback_raises_ends_the_program() -> None:
    def full(_: Interval) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        drive(READY, INTERVAL, RECORD, taken=full)


def test_it_takes_no_turns() -> None:
    driver = ProgramDriver("go-redis", lambda _: ScriptedProgram([]), {}, ready_within_s=0.2)
    with pytest.raises(DriveFailed, match="cannot take turns in rounds"):
        driver.drive([SHARE], lambda *_: None, RoundsOptions(orders=((0,),)))


def test_the_plan_is_sent_whole_with_its_secrets() -> None:
    program = ScriptedProgram(lines(READY, RECORD))
    drive_alone(ProgramDriver("go-redis", lambda _: program, {"mode": "fast"}, ready_within_s=0.2), SHARE)
    sent = PlanMessage.model_validate_json(program.sent[0])
    assert sent.plan == SHARE
    assert sent.options == {"mode": "fast"}
    assert program.sent[0].count(b"\n") == 1


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("plan-*.json")), ids=lambda path: path.stem)
def test_the_examples_of_plans_are_plans(example: Path) -> None:
    message = PlanMessage.model_validate_json(example.read_text())
    assert message.plan.operations
