"""Typed errors. Each says in one line what is wrong and what helps; only `cli` exits.

`UserError`: bad input, exit status 2. `ServerGone`: the user's server went away, `OutOfRoom`: it is full, status 3.
"""


class LoadstoneError(Exception):
    """Base of all that loadstone raises on purpose. The message is one line for a person."""

    exit_status = 1


class UserError(LoadstoneError):
    """Bad input: names the field, the value and the remedy."""

    exit_status = 2


class ServerGone(LoadstoneError):
    """A server that is not ours stopped answering: what was finished is kept."""

    exit_status = 3


class OutOfRoom(LoadstoneError):
    """A server that is not ours has no room left: the run ends, before more of what others hold there is lost."""

    exit_status = 3


class DriveFailed(LoadstoneError):
    """A trial could not be driven to its end; the trial is invalid, the run goes on."""

    exit_status = 3


class Interrupted(LoadstoneError):
    """The user asked to stop; what was finished is kept."""

    exit_status = 130
