"""Why a drive came to nothing: the driver's message, and what explains it."""

from loadstone.conduct.memory_ends import OomKills, killed_for_memory
from loadstone.deploy.deployed import Ready
from loadstone.machine.local_ports import ports_running_out


def explained(error: str, ready: Ready, before: OomKills) -> str:
    """The driver's message, and after it what explains it, if something does; `before`: the OOM kills by then."""
    if why := killed_for_memory(ready, before) or ports_running_out():
        return f"{error}; {why}"
    for name, one in ready.subjects.items():
        if one.subject.ours and not one.subject.alive():
            return f"{error}; subject {name} has ended, and its last lines are: {one.subject.last_output() or 'none'}"
    return error
