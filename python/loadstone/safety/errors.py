"""Typed errors. Each says in one line what is wrong and what helps; only `cli` exits.

| status | |
|---|---|
| 2 | `UserError`: bad input |
| 3 | `ServerGone`, `ServerRefused`, `BadReply`, `OutOfSpace`: a server is gone, refuses, talks nonsense, or is full |
| 3 | `DriveFailed`, `FleetGone` |
| 70 | what is none of these: a defect of loadstone (`safety/defect.py`) |
| 130 | `Interrupted` |
"""

from typing import Self

from loadstone.safety.secrets.known import redact
from loadstone.text.message import AnyText, Message, said
from loadstone.text.problem import SaidError


class LoadstoneError(SaidError):
    """Base of all that loadstone raises on purpose. The message is one line for a person, without secrets."""

    exit_status = 3

    @property
    def message(self) -> Message:
        """Its sentence, without secrets."""
        return super().message.changed(redact)

    def __str__(self) -> str:
        return redact(super().__str__())


class UserError(LoadstoneError):
    """Bad input: names the field, the value and the remedy."""

    exit_status = 2


class SubjectFailed(UserError):
    """An application that loadstone starts does not come up."""

    def __init__(self, subject: str, problem: AnyText) -> None:
        """`subject`: its name; `problem`: what is wrong with it, without the name."""
        Exception.__init__(self, said("subject {name}: {problem}", name=subject, problem=problem))
        self.subject = subject
        self.problem = problem


class NoPlace(UserError):
    """A run's folder cannot be made, or has too little room, where it is to be."""


class AccessRefused(UserError):
    """A server refuses a log-in or a right."""


class ServerGone(LoadstoneError):
    """A server that is not ours stopped answering: what was finished is kept."""

    exit_status = 3
    said: str = ""
    """The reason alone, as the server or the system has it; empty: the message is all there is."""

    def because(self, reason: str) -> Self:
        """Return this error, with the reason alone, as the server or the system has it."""
        self.said = reason
        return self


class ServerRefused(ServerGone):
    """A server answered with an error: it is there, and does not do what was requested."""

    code: str = ""
    """What the server calls the error (`WRONGTYPE`, `42P04`, `1062`); empty: nothing."""
    for_now: bool = False
    """Whether it will do it soon, as it says."""

    def answered(self, code: str, reason: str, *, for_now: bool = False) -> Self:
        """Return this error, with what the server calls it, and its reason alone."""
        self.code = code
        self.for_now = for_now
        return self.because(reason)


class OutOfSpace(LoadstoneError):
    """A server that is not ours has no room left: the run ends, before more of what others hold there is lost."""

    exit_status = 3


class BadReply(ServerGone):
    """A server answered what is no answer to the command: names server, command, what came and what was expected."""


class DriveFailed(LoadstoneError):
    """A trial could not be driven to its end; the trial is invalid, the run goes on."""

    exit_status = 3


class FleetGone(LoadstoneError):
    """No agent is left, or one was lost and the user asked to end then; what was finished is kept."""

    exit_status = 3


class Interrupted(LoadstoneError):
    """The user requested to stop; what was finished is kept."""

    exit_status = 130
