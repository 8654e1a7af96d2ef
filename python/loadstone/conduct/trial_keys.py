"""The keys that a trial makes: noted before its load begins, and removed after it."""

import re
import time
from functools import partial

from loadstone.bounds.conversation import REMOVAL, conversation
from loadstone.conduct.driven_plan import targets_of
from loadstone.deploy.control import KeyStore
from loadstone.deploy.deployed import Ready
from loadstone.deploy.ledger import Made
from loadstone.deploy.patience import is_busy, patiently
from loadstone.errors import ServerGone
from loadstone.plan.drive_plan import Plan
from loadstone.plan.operations import begins_with_key, is_one_key
from loadstone.plan.protocols import PROTOCOLS
from loadstone.plan.run_plan import PlannedTrial
from loadstone.spec.experiment import OUR_PREFIX

BUSY_S = 20.0
"""How long a server that is busy for now is tried again after a trial."""
_BRACE = re.compile(r"\{\{|[{}]")
_NAMED = re.compile(rf"{OUR_PREFIX}[^:]+:")
"""A beginning that is removed as a whole must name something of its own."""


def numbered_keys(plan: Plan) -> Made:
    """The keys of the plan's key space."""
    return Made("numbered_keys", plan.keys.prefix, plan.keys.count)


def keys_of(plan: Plan) -> list[Made]:
    """All that the plan's commands may make below `loadstone:`; nothing where the load is HTTP.

    Any argument of that form is taken for a key: to remove too much is not possible, because all of it is ours.
    """
    if not PROTOCOLS[plan.protocol].has_keys:
        return []
    if plan.recording is not None:
        return [Made("keys_beginning", plan.keys.prefix)]
    commands = [command for operation in plan.operations for command in operation.commands]
    named = {_named(text, plan.keys.prefix) for command in commands for text in command.args[1:]}
    return [numbered_keys(plan), *sorted(made for made in named if made is not None)]


def _named(text: str, prefix: str) -> Made | None:
    """The key, or the keys' beginning, that an argument names; None for `{key}` or `{key2}` itself, and
    for what is not ours."""
    if begins_with_key(text):
        return None if is_one_key(text) else Made("keys_beginning", prefix)
    if not text.startswith(OUR_PREFIX):
        return None
    place = next((brace.start() for brace in _BRACE.finditer(text) if brace[0] != "{{"), None)
    literal = text[:place].replace("{{", "{")
    if place is None:
        return Made("key", literal)
    return Made("keys_beginning", literal) if _NAMED.match(literal) else None


def _remove(control: KeyStore, prefix: str, count: int) -> None:
    with conversation(REMOVAL, count):
        control.remove_numbered(prefix, count)


def remove_keys(planned: PlannedTrial, ready: Ready, offered: int | None) -> ServerGone | None:
    """Remove the plan's keys, and no others; the reason if a server that is not ours does not answer.

    `offered`: operations of the drive, once it ended.
    """
    if not PROTOCOLS[planned.plan.protocol].has_keys:
        return None
    keys = planned.plan.keys
    in_order = keys.distribution == "exactly_once" and planned.load is None and offered is not None
    count = min(keys.count, offered or 0) if in_order else keys.count
    gone: ServerGone | None = None
    for server in targets_of(ready, planned.target).values():
        if not isinstance(server.control, KeyStore) or (server.server.ours and not server.server.alive()):
            continue
        try:
            patiently(partial(_remove, server.control, keys.prefix, count), time.monotonic() + BUSY_S, is_busy)
            server.traces.gone(numbered_keys(planned.plan))
        except ServerGone as error:
            gone = gone if server.server.ours else error
    return gone
