"""What the parts of a trial are, of a folder from before their records carried it: by the figures that they have.

Nothing else guesses what a part is.
"""

from collections.abc import Mapping
from typing import Any

from loadstone.record.facts import owner_of
from loadstone.record.parts.part_kinds import kinds_of

_OF_MARIADB = frozenset({"threads_connected", "buffer_pool_data_bytes", "rows_read_per_s"})
_OF_REDIS = frozenset({"connected_clients", "used_memory"})
_OF_NOTHING = ("host", "kernel", "generator", "loadstone", "others")


def with_kinds(line: dict[str, Any]) -> dict[str, Any]:
    """A line of `trials.jsonl` whose facts have `kinds`; the line as it is where they have, or are damaged."""
    facts = line.get("facts")
    if not isinstance(facts, dict) or "plan" not in facts or "kinds" in facts:
        return line
    observed, servers, subjects, parts, settings = (
        _mapping(facts, name) for name in ("seen", "servers", "subjects", "parts", "settings")
    )
    software = dict.fromkeys(servers, "redis")
    for part, figures in observed.items():
        names = set(figures) if isinstance(figures, Mapping) else set()
        if part not in servers and names & (_OF_REDIS | _OF_MARIADB):
            software[part] = "redis" if names & _OF_REDIS else "mariadb"
    software |= {name: "mariadb" for name in settings if name not in software}
    known = {*software, *subjects}
    others = (part for part in parts if part not in _OF_NOTHING and owner_of(part, known) is None)
    return {**line, "facts": {**facts, "kinds": kinds_of(software, [*subjects, *others])}}


def _mapping(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = facts.get(name)
    return found if isinstance(found, Mapping) else {}
