"""Which keys a plan makes on the Redis that gets its load: known before the load begins, so that all can be removed."""

import re

from loadstone.deploy.ledger import Made
from loadstone.plan.drive_plan import Plan
from loadstone.plan.operations import begins_with_key, is_one_key
from loadstone.plan.protocols import PROTOCOLS
from loadstone.spec.experiment import OUR_PREFIX

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
    return [numbered_keys(plan), *sorted(one for one in named if one is not None)]


def _named(text: str, prefix: str) -> Made | None:
    """The key, or the keys' beginning, that an argument names; None for `{key}` or `{key2}` itself, and
    for what is not ours."""
    if begins_with_key(text):
        return None if is_one_key(text) else Made("keys_beginning", prefix)
    if not text.startswith(OUR_PREFIX):
        return None
    place = next((found.start() for found in _BRACE.finditer(text) if found[0] != "{{"), None)
    literal = text[:place].replace("{{", "{")
    if place is None:
        return Made("key", literal)
    return Made("keys_beginning", literal) if _NAMED.match(literal) else None
