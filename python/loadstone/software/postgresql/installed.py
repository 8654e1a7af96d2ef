"""What of PostgreSQL is installed on this machine, for `loadstone doctor`."""

import re

from loadstone.deploy.fact import Fact
from loadstone.deploy.program_output import output_of
from loadstone.software.postgresql.programs import find


def server() -> Fact:
    """The PostgreSQL that would be started."""
    found = find("postgres")
    if found is None or find("initdb") is None:
        remedy = "Debian: apt-get install postgresql; or --server NAME=postgresql://..."
        return Fact("postgresql", "not installed", "warn", remedy)
    version = re.search(r"\d+(\.\d+)*", output_of(str(found), "--version") or "")
    return Fact("postgresql", f"{version[0] if version else 'installed'} ({found})", "ok")
