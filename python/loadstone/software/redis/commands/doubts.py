"""What is wrong with a command by its look alone: before a server is there that could say so."""

from collections.abc import Sequence

from loadstone.deploy.control import Doubt
from loadstone.software.redis.commands.arity import ARITIES
from loadstone.software.redis.commands.table import DATA, KEYLESS, REFUSED, SUBCOMMANDS
from loadstone.spec.problems import nearest

KNOWN = {*DATA, *KEYLESS, *REFUSED, *SUBCOMMANDS}


def doubt_about(command: Sequence[str]) -> Doubt | None:
    """A command with too few or too many arguments, which no Redis takes; or one that loadstone does not know."""
    name = command[0].upper() if command else ""
    if not name or "{" in name:
        return None
    words = ARITIES.get(name)
    if words is not None and (len(command) != words if words > 0 else len(command) < -words):
        takes = f"takes {words - 1}" if words > 0 else f"takes at least {-words - 1}"
        has = f"{len(command) - 1} argument{'' if len(command) == 2 else 's'}"
        return Doubt(f"has {has}, and {name} {takes}; correct the command", is_certain=True)
    if name in KNOWN:
        return None
    hint = nearest(name, KNOWN)
    return Doubt(f"is not a command that loadstone knows; {hint}the server is queried about it at the run")
