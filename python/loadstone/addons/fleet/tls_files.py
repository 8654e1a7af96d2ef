"""The files of servers' TLS, on agents: those of `rediss://...?ca_file=FILE` stand on the command's machine.

Their texts go with the plan, and are in memory alone on an agent: a key is a secret. Where the system has no files in
memory (all but Linux), they are looked for under the names that the plan has.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from loadstone.experiment.plan.drive_plan import Plan
from loadstone.safety.errors import DriveFailed

FILES = ("ca_file", "cert_file", "key_file")


def read(plans: Sequence[Plan]) -> dict[str, str]:
    """The texts of all that plans name, by name. Raises DriveFailed."""
    found = {}
    for plan in plans:
        for tls in [endpoint.tls for endpoint in plan.endpoints if endpoint.tls is not None]:
            for name in filter(None, (tls.ca_file, tls.cert_file, tls.key_file)):
                try:
                    found[name] = Path(name).read_bytes().decode("latin-1")
                except OSError as error:
                    raise DriveFailed(
                        "{name}: cannot be read ({strerror})", name=name, strerror=error.strerror
                    ) from None
    return found


@contextlib.contextmanager
def in_memory(plans: Sequence[dict[str, Any]], texts: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """While it lasts the plans name files that are in memory; gives the names that they had before, by the new ones."""
    named: dict[str, str] = {}
    held: list[int] = []
    try:
        for name, text in texts.items() if hasattr(os, "memfd_create") else ():
            held.append(os.memfd_create("loadstone"))
            with os.fdopen(os.dup(held[-1]), "wb") as file:
                file.write(text.encode("latin-1"))
            named[name] = f"/proc/self/fd/{held[-1]}"
        for plan in plans:
            for tls in [endpoint["tls"] for endpoint in plan.get("endpoints", ()) if endpoint.get("tls")]:
                tls.update({field: named[tls[field]] for field in FILES if tls.get(field) in named})
        yield {new: old for old, new in named.items()}
    finally:
        for fd in held:
            os.close(fd)
