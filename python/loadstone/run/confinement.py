"""Before anything is sent: which commands look wrong, and which are not confined to keys and tables of our own.

The software of the server decides both (`servers.control.Confinement` and `CommandInspection`); here is what a run
would send where.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.operations import Recording, commands_of
from loadstone.experiment.plan.run_plan import PlannedTrial, RunPlan
from loadstone.experiment.software import software_of
from loadstone.experiment.spec.subject_names import is_built_in
from loadstone.programs.manifest import REFERENCE, read_manifest
from loadstone.programs.subjects.schema import users_script
from loadstone.safety.bounds.deadlines import OPENING, deadline
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers import registry
from loadstone.servers.control import CommandInspection, CommandRefusal, CommandWarning, Confinement
from loadstone.servers.recordings import recorded_in
from loadstone.servers.server import Server
from loadstone.text.message import AnyText, said

SHOWN = 60
"""Number of characters of a command or statement that stand in a message."""
REMARKS = 10
"""Number of commands that were let pass that are named."""
OPTION = "--allow-any-command"
Check = Callable[[], None]
"""Raises Refusal, or ServerGone where the server is consulted."""


@dataclass(frozen=True)
class OutgoingCommand:
    """One command or statement for a server of the user's."""

    place: AnyText
    """Who sends it: `operation 'set'`."""
    text: str
    check: Check


@dataclass(frozen=True)
class RefusedCommand:
    """A command or statement that is not ours to send, and why."""

    place: AnyText
    text: str
    server: str
    reason: AnyText
    remedy: AnyText

    @property
    def error(self) -> UserError:
        """Why the run is refused."""
        return UserError(
            "{place}: '{text}' is not sent to {server}, which is not loadstone's own: {reason}; {remedy}, or "
            "let any command pass by {option}",
            place=self.place,
            text=self.text,
            server=self.server,
            reason=self.reason,
            remedy=self.remedy,
            option=OPTION,
        )

    @property
    def remark(self) -> AnyText:
        """What is said where it is sent all the same."""
        return said(
            "{option}: {place} sends '{text}' to {server}, although {reason}",
            option=OPTION,
            place=self.place,
            text=self.text,
            server=self.server,
            reason=self.reason,
        )


@dataclass(frozen=True)
class ConfinementRules:
    """What may be sent to one server."""

    server: str
    """Which it is, for people."""
    confinement: Confinement


@dataclass(frozen=True)
class _UsersServer:
    """A server that is not ours, not connected yet, with a trial of each condition that has it."""

    name: str
    settings: Mapping[str, Any]
    server: Server
    trials: list[PlannedTrial]


_Found = dict[tuple[str, AnyText, str], RefusedCommand | None]


def confined(run_plan: RunPlan, *, ask: bool, allow: bool) -> tuple[AnyText, ...]:
    """A remark on each command that is not confined, where they are allowed; see `refused_by_rules`.

    Raises:
        UserError: one is not confined and not allowed; or a server does not answer.
    """
    refused = refused_by_servers(run_plan) if ask else refused_by_rules(run_plan)
    if refused and not allow:
        raise refused[0].error
    more = [said("{option}: and {n} others", option=OPTION, n=len(refused) - REMARKS)] if len(refused) > REMARKS else []
    return (*(one.remark for one in refused[:REMARKS]), *more)


def refused_by_rules(run_plan: RunPlan) -> list[RefusedCommand]:
    """What of a run may not be sent to servers that are not ours, in the order of its conditions.

    By our own rules alone: no control is made, so nothing is connected to. What only a server knows passes.

    Raises:
        UserError: a subject has a file of SQL for one of them.
    """
    answers: _Found = {}
    for one in _users_servers(run_plan):
        room = registry.room(software_of(one.settings).name)
        url = str(one.settings["url"])
        address = _where(room.place(one.name, url).address)
        _require_no_script(one, address)
        _collect(answers, one, ConfinementRules(f"{one.name} ({address})", room.confinement))
    return [refused for refused in answers.values() if refused is not None]


def refused_by_servers(run_plan: RunPlan) -> list[RefusedCommand]:
    """Return the refused commands, after the servers are consulted about their commands.

    Raises:
        UserError: a server does not answer, or a subject has a file of SQL for one of them.
    """
    answers: _Found = {}
    for one in _users_servers(run_plan):
        with deadline(OPENING), one.server.control() as control:
            address = control.endpoint.label
            _require_no_script(one, address)
            _collect(answers, one, ConfinementRules(f"{one.name} ({address})", control.confinement()))
    return [refused for refused in answers.values() if refused is not None]


def _where(address: str) -> str:
    """Return what people call the server of a place's address: its host and port, or the path of its socket."""
    parts = urlsplit(address)
    return parts.netloc or parts.path.rpartition("/")[0]


def _collect(found: "_Found", theirs: "_UsersServer", rules: ConfinementRules) -> None:
    for sent in (sent for trial in theirs.trials for sent in _sent(trial, theirs.name, rules)):
        identity = (rules.server, sent.place, sent.text)
        if identity not in found:
            found[identity] = _refused(sent, rules.server)


def _refused(sent: OutgoingCommand, server: str) -> RefusedCommand | None:
    try:
        sent.check()
    except CommandRefusal as refusal:
        return RefusedCommand(sent.place, shortened(sent.text, SHOWN), server, refusal.reason, refusal.remedy)
    except ServerGone as gone:
        raise UserError.of(gone.message) from None
    return None


def _users_servers(run_plan: RunPlan) -> Iterator[_UsersServer]:
    conditions = {str(trial.condition): trial for trial in run_plan.every_trial}
    users: dict[str, _UsersServer] = {}
    for trial in conditions.values():
        for name, settings in trial.servers.items():
            key = repr((name, settings))
            if key not in users:
                users[key] = _UsersServer(name, settings, registry.make_server(name, settings), [])
            users[key].trials.append(trial)
    return (one for one in users.values() if not one.server.ours)


def _sent(trial: PlannedTrial, server: str, rules: ConfinementRules) -> Iterator[OutgoingCommand]:
    """Everything that a trial sends to a server: its load, data and counts."""
    confinement = rules.confinement
    if trial.loads(server):
        yield from _of_plan(trial.plan, confinement)
        yield from _of_plan(trial.load, confinement)
    for data in trial.data:
        if data.server == server:
            for text in data.commands:
                yield OutgoingCommand(f"data '{data.name}'", text, partial(confinement.row_command, text))
    yield from _of_variables(trial, server)
    for stored in trial.stored:
        if stored.server == server:
            # An application keeps what it stores where it likes; without one nothing but ours can be counted.
            check = partial(confinement.count, stored.count, of_application=bool(trial.subjects))
            yield OutgoingCommand(
                said("the count of operation '{operation}'", operation=stored.operation), stored.count, check
            )


def _of_plan(plan: Plan | None, confinement: Confinement) -> Iterator[OutgoingCommand]:
    """The commands of a load; HTTP requests go to an application."""
    if plan is None:
        return
    if plan.recording is not None:
        yield from _of_recording(plan, plan.recording, confinement)
        return
    for operation in plan.operations:
        for command in commands_of(operation):
            check = partial(confinement.command, command.args, plan.keys.prefix)
            yield OutgoingCommand(f"operation '{operation.name}'", " ".join(command.args), check)


def _of_recording(plan: Plan, recording: Recording, confinement: Confinement) -> Iterator[OutgoingCommand]:
    """Some of each command of a recording, with keys as they are sent."""
    for example in recorded_in(recording.path).examples:
        literal = [(text.replace("{", "{{").replace("}", "}}"), is_key) for text, is_key in example]
        args = [f"{plan.keys.prefix}{text}" if is_key else text for text, is_key in literal]
        yield OutgoingCommand("the recording", " ".join(args), partial(confinement.command, args, plan.keys.prefix))


def _of_variables(trial: PlannedTrial, server: str) -> Iterator[OutgoingCommand]:
    """Variables by which a built-in application gets another place of a server than that of its URL."""
    for name, subject in trial.subjects.items():
        if subject.manifest is None or not is_built_in(Path(subject.manifest)):
            continue
        manifest, _ = read_manifest(Path(subject.manifest))
        for variable, value in subject.environment.items():
            declared = manifest.environment.get(variable, "")
            if server in {named for named, _ in REFERENCE.findall(declared)}:
                yield OutgoingCommand(f"subject '{name}', environment.{variable}", value, _refuse_place)


def _refuse_place() -> None:
    """Raises Refusal."""
    raise CommandRefusal(
        said("the application could use another server or database than its URL names"),
        said("leave the variable out"),
    )


def _require_no_script(theirs: _UsersServer, address: str) -> None:
    """Returns if no subject has a file of SQL for this server: nobody knows what it would do there. Raises UserError.

    What loadstone makes there it must find again and remove, so `--allow-any-command` lets no file pass.
    """
    for trial in theirs.trials:
        for name, subject in trial.subjects.items():
            if subject.manifest is not None:
                manifest, _ = read_manifest(Path(subject.manifest))
                if theirs.name in manifest.scripts:
                    raise users_script(name, manifest.scripts[theirs.name], theirs.name, address)


def doubts(run_plan: RunPlan, *, allow: bool) -> tuple[str, ...]:
    """A remark on each command that its server may not have.

    Raises:
        UserError: a command that no server takes, or whose name is not known, where not any command is allowed.
    """
    remarks: dict[str, None] = {}
    for trial in run_plan.every_trial:
        for place, text, doubt in _doubted(trial, _look(trial)):
            line = f"{place}: '{shortened(text, SHOWN)}' {doubt.text}"
            if doubt.is_certain:
                raise UserError.of(line)
            if doubt.is_unknown and not allow:
                raise UserError(
                    "{line}; {hint}correct it, or let any command pass by {option}",
                    line=line,
                    hint=doubt.hint,
                    option=OPTION,
                )
            remarks[line] = None
    return tuple(remarks)


def _look(trial: PlannedTrial) -> CommandInspection | None:
    """That of the server which gets the load."""
    for name, settings in trial.servers.items():
        if trial.loads(name):
            return registry.room(software_of(settings).name).doubt_about
    return None


def _doubted(trial: PlannedTrial, look: CommandInspection | None) -> Iterator[tuple[str, str, CommandWarning]]:
    """Yield the doubtful commands of a trial; of a recording only the names of its commands are in the plan."""
    if look is None:
        return
    plans = [plan for plan in (trial.plan, trial.load) if plan is not None and plan.recording is None]
    for operation in (operation for plan in plans for operation in plan.operations):
        for command in commands_of(operation):
            if (doubt := look(command.args)) is not None:
                yield f"operation '{operation.name}'", " ".join(command.args), doubt
