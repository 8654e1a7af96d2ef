"""Whether every operation is accounted for: here, at the server, at those who receive, and in what was read back."""

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from loadstone.drivers.outcome import Counts, ReceiversRecord
from loadstone.experiment.plan.operations import commands_of
from loadstone.experiment.plan.protocols import PROTOCOLS
from loadstone.judge.checks.check import Finding, Limit, MeasuredFigure, NotObserved, check, share
from loadstone.judge.checks.evidence import TrialEvidence
from loadstone.judge.checks.stall_checks import server_stalls
from loadstone.run_folder.facts import ServerCounters, TrialFacts
from loadstone.text.message import message

ERRORS = Limit(0.5, 1, "%", "J: a failure often costs less than a reply")
CONSERVATION = Limit(
    0, 0, "operations", "X: offered = sent + dropped + unsent, and sent = ok + errors + timeouts + in flight"
)
SERVER_COUNTER = Limit(
    0, 0, "commands", "X: a difference means that other clients sent commands, or that replies were lost"
)
REPLIES = Limit(
    0, 0, "replies", "X: one wrong reply is enough, and so is one key that does not hold what was last written"
)
PAYLOAD = Limit(1, 5, "%", "J: the server's own count of input bytes is compared")
DELIVERIES = Limit(0, 0, "deliveries", "X: TCP loses nothing, so a missing or repeated message is the server's")
PAYLOAD_ALLOWED_BYTES = 2_000
PAYLOAD_ALLOWED_BYTES_PER_S = 200
"""What loadstone itself asks the server beside the load: INFO once a second."""

SERVER_ERROR, UNKNOWN_COMMAND = "server_err", "unknown command"
"""The kind of an error reply of Redis, and what stands in the one to a command that the server does not have."""
WRONG_KINDS = ("wrong_reply", "wrong_type", "missing", "nil_reply", "not_positive", "body_mismatch")
"""Kinds of errors that are replies with a wrong content, or without the content that must be there."""


@check(ERRORS)
def errors(evidence: TrialEvidence) -> Finding:
    """Operations that failed: error replies, lost connections, timeouts, replies that never came.

    Timeouts of a server that stood still are what was found: they do not refuse the figure that they stand beside.
    """
    counts = evidence.trial.counts
    if not counts.sent:
        return NotObserved(message("check.errors.nothing_sent"))
    failed = {kind: number for kind, number in counts.errors.items() if number}
    failed |= {kind: n for kind, n in (("timeouts", counts.timeouts), ("never_answered", counts.in_flight)) if n}
    measured = share(sum(failed.values()), counts.sent)
    late = counts.timeouts + counts.in_flight
    others = share(sum(failed.values()) - late, counts.sent)
    stood_still = server_stalls(evidence.facts, evidence.trial.response_ns.p50)
    limit = replace(ERRORS, invalid=inf) if stood_still and others <= ERRORS.invalid else ERRORS
    unknown = unknown_commands(evidence.facts)
    reason = message("check.errors.failed", percent=measured, kinds=failed, **({"unknown": unknown} if unknown else {}))
    return MeasuredFigure(measured, reason, limit=limit)


def unknown_commands(facts: TrialFacts) -> list[str]:
    """The load's commands of which a server said that it does not know them, in the order of the operations."""
    if facts.plan is None or facts.drive is None:
        return []
    said = [one for one in facts.drive.examples if one.kind == SERVER_ERROR and UNKNOWN_COMMAND in one.reply]
    answered = {one.operation: one.reply.upper() for one in said}
    names = (
        command.args[0]
        for operation in facts.plan.operations
        if operation.name in answered
        for command in commands_of(operation)
        if command.args[0].upper() in answered[operation.name]
    )
    return list(dict.fromkeys(names))


@check(CONSERVATION)
def conservation(evidence: TrialEvidence) -> Finding:
    """Operations without exactly one end, and correct replies without a latency."""
    drive = evidence.drive
    astray = sum(_astray(counts) for counts in (drive.total, *(o.counts for o in drive.operations.values())))
    missing = sum(operation.counts.ok - operation.response_ns.count for operation in drive.operations.values())
    astray += max(0, -missing, missing - drive.overflowed)
    reason = message("check.conservation.astray", operations=astray)
    return MeasuredFigure(astray, reason)


def _astray(counts: Counts) -> int:
    ended = counts.ok + sum(counts.errors.values()) + counts.timeouts + counts.in_flight
    return abs(counts.offered - counts.sent - counts.dropped - counts.unsent) + abs(counts.sent - ended)


@check(SERVER_COUNTER)
def server_counter(evidence: TrialEvidence) -> Finding | None:
    """The servers' own count of the load's commands against ours, command by command.

    What an application queries of the servers behind it is its own affair.
    """
    if evidence.http:
        return None
    sides = [(server.before, server.after) for server in evidence.targets.values()]
    if not sides or any(before is None or after is None for before, after in sides):
        return NotObserved(message("check.no_counters"))
    known = [(before, after) for before, after in sides if before is not None and after is not None]
    if any(before.run_id != after.run_id for before, after in known):
        return NotObserved(message("check.server_counter.restarted"))
    unknown = {name.upper() for name in unknown_commands(evidence.facts)}  # a server counts no calls of these
    names = {name for name in _commands(evidence) if name.upper() not in unknown}
    counted = {name: sum(_more_calls(before, after, name) for before, after in known) for name in names}
    differences = dict(_differences(evidence, counted))
    reason = message("check.server_counter.differs", differences=differences)
    return MeasuredFigure(sum(map(abs, differences.values())), reason)


def _commands(evidence: TrialEvidence) -> set[str]:
    """The load's own commands, as the driver counted them."""
    operations = evidence.plan.operations
    planned = {command.args[0].upper() for operation in operations for command in commands_of(operation)}
    planned -= PROTOCOLS[evidence.plan.protocol].uncounted
    return {name for name in evidence.commands if name.upper() in planned}


def _more_calls(before: ServerCounters, after: ServerCounters, command: str) -> int:
    name = command.lower()
    return after.calls.get(name, 0) - before.calls.get(name, 0)


def _differences(evidence: TrialEvidence, counted: dict[str, int]) -> Iterator[tuple[str, int]]:
    """Yield how far the server's count lies outside of [answered, sent]; commands without a reply may have arrived."""
    commands = evidence.commands
    for name, calls in sorted(counted.items()):
        ours = commands[name]
        if calls < ours.replied:
            yield name, calls - ours.replied
        elif calls > ours.sent:
            yield name, calls - ours.sent


@check(REPLIES)
def replies(evidence: TrialEvidence) -> Finding:
    """Replies with a wrong content or type, those to no request, and keys that did not hold what was last written."""
    plan, drive = evidence.plan, evidence.drive
    if drive.connections.unrequested:
        number = drive.connections.unrequested
        reason = message("check.replies.unrequested", replies=number)
        return MeasuredFigure(number, reason)
    wrong = sum(drive.total.errors.get(kind, 0) for kind in WRONG_KINDS)
    if wrong or drive.read_back.wrong:
        reason = message(
            "check.replies.wrong", replies=wrong, keys=drive.read_back.wrong, read_back=drive.read_back.checked
        )
        return MeasuredFigure(wrong + drive.read_back.wrong, reason)
    if not (plan.verify.replies and plan.verify.count_mismatch):
        return NotObserved(message("check.replies.not_compared"))
    if evidence.http and not _reads_bodies(evidence):
        return NotObserved(message("check.replies.status_only"))
    writes = any(operation.writes != "nothing" for operation in plan.operations)
    if writes and not drive.read_back.checked:
        return NotObserved(message("check.replies.not_read_back"))
    return MeasuredFigure(0)


def _reads_bodies(evidence: TrialEvidence) -> bool:
    expected = (request.expect for operation in evidence.plan.operations for request in operation.requests)
    return any(one.equals is not None or one.contains is not None or one.json_fields for one in expected)


@check(PAYLOAD)
def payload(evidence: TrialEvidence) -> Finding | None:
    """Bytes that the servers read against those that the driver wrote; not those behind an application."""
    if evidence.http:
        return None
    read = 0.0
    for server in evidence.targets.values():
        if server.before is None or server.after is None or server.before.run_id != server.after.run_id:
            return NotObserved(message("check.no_counters"))
        name = "total_net_input_bytes"
        if name not in server.before.counters or name not in server.after.counters:
            return NotObserved(message("check.payload.not_reported"))
        if server.after.counters.get("connected_slaves"):
            return NotObserved(message("check.payload.replicas"))
        read += server.after.counters[name] - server.before.counters[name]
    if not evidence.targets or not evidence.bytes_sent:
        return NotObserved(message("check.no_counters"))
    allowed = PAYLOAD_ALLOWED_BYTES + PAYLOAD_ALLOWED_BYTES_PER_S * evidence.driven_s
    difference = read - evidence.bytes_sent
    measured = share(max(0.0, abs(difference) - allowed), evidence.bytes_sent)
    reason = message("check.payload.differs", difference=difference, sent=evidence.bytes_sent)
    return MeasuredFigure(measured, reason)


@check(DELIVERIES)
def deliveries(evidence: TrialEvidence) -> Finding | None:
    """Messages that did not come, came twice, or were others', and receivers that lost their connections."""
    receivers = evidence.drive.receivers
    if receivers is None:
        return None
    invented = _invented(evidence.drive.total, receivers)
    wrong = receivers.missing + receivers.repeated + receivers.unreadable + invented
    if receivers.disconnected:
        lost = {
            "connections": receivers.disconnected,
            "of": receivers.connections,
            "why": receivers.why_disconnected or "",
        }
        reason = message("check.deliveries.disconnected", missing=receivers.missing, **lost)
        return MeasuredFigure(max(wrong, receivers.disconnected), reason)
    counts = {
        "missing": receivers.missing,
        "repeated": receivers.repeated,
        "unreadable": receivers.unreadable + invented,
    }
    return MeasuredFigure(wrong, message("check.deliveries.wrong", expected=receivers.expected, **counts))


def _invented(total: Counts, receivers: ReceiversRecord) -> int:
    """Deliveries beyond all that was sent. A message whose sender got no correct reply may have come all the same."""
    copies = -(-receivers.expected // receivers.published) if receivers.published else receivers.connections
    perhaps = copies * (sum(total.errors.values()) + total.timeouts + total.in_flight)
    return max(0, receivers.delivered - receivers.expected - perhaps)
