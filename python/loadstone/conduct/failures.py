"""Why a drive came to nothing: the driver's message, and what explains it."""

from collections.abc import Iterable

from loadstone.conduct.memory_ends import OomKills, how_it_ended, killed_for_memory
from loadstone.deploy.deployed import Ready
from loadstone.machine.local_ports import ports_running_out


def explained(error: str, ready: Ready, before: OomKills) -> str:
    """The driver's message, and after it what explains it, if something does; `before`: the OOM kills by then."""
    if why := killed_for_memory(ready, before) or ports_running_out():
        return f"{error}; {why}"
    for name, server in ready.servers.items():
        if server.server.ours and not server.server.alive():
            return f"{error}; server {name} died{how_it_ended(ready, f'server {name}', before)}"
        if server.line is not None and not server.line.alive():
            return f"{error}; the link of {name} has ended: {server.line.how_it_ended()}"
    for name, one in ready.subjects.items():
        if one.subject.ours and not one.subject.alive():
            return f"{error}; subject {name} has ended, and its last lines are: {one.subject.last_output() or 'none'}"
    return error


def explained_by_any(error: str, parts: Iterable[tuple[Ready, OomKills]]) -> str:
    """The same of several that were driven together: what explains it is in the parts of one of them."""
    found = (explained(error, ready, before) for ready, before in parts)
    return next((said for said in found if said != error), error)
