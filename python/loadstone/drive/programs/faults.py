"""What can be wrong with a driver's program. Each makes a trial invalid, with its message; the run goes on."""

from loadstone.errors import DriveFailed


class DriverRefused(DriveFailed):
    """It says that it cannot drive: a plan that it cannot carry out, a server that it cannot reach."""


class DriverHung(DriveFailed):
    """It wrote nothing for too long, or does not come to an end."""


class DriverTooLarge(DriveFailed):
    """It takes more memory than it may."""


class DriverBroken(DriveFailed):
    """It wrote what is no message, or one that comes at the wrong time."""


class DriverDied(DriveFailed):
    """It ended before its record."""


class DriverImplausible(DriveFailed):
    """Its record contradicts itself or the plan: operations, commands or connections that do not add up."""
