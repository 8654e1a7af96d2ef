"""Where applications keep their keys in Redis, as far as their variables say so.

The built-in applications take no other prefix than `PREFIX`, by whichever variable they get it. Here another one is
refused before they are started, and the prefix in force is found for the ledger.
"""

import re
from collections.abc import Mapping

from loadstone.experiment.spec.experiment import OUR_PREFIX

PREFIX = re.compile(rf"{OUR_PREFIX}[A-Za-z0-9_.-]+:[A-Za-z0-9_.:-]*", re.ASCII)
"""All that a prefix may be: it names something of its own, so that all keys that begin with it can be removed."""
_OF_A_PREFIX = re.compile(r"key[_.-]?prefix$", re.IGNORECASE)


def is_other_prefix(name: str, value: str) -> bool:
    """Return whether a variable of a built-in application is a prefix that the application refuses."""
    return _OF_A_PREFIX.search(name) is not None and not PREFIX.fullmatch(value)


def prefixes_in(environment: Mapping[str, str]) -> list[str]:
    """Return every prefix of keys of ours that the values of an environment hold, whatever the variables' names."""
    return sorted({found[0] for value in environment.values() for found in PREFIX.finditer(value)})
