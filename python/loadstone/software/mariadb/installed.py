"""What of MariaDB is installed on this machine, for `loadstone doctor`."""

import re

from loadstone.deploy.fact import Fact
from loadstone.deploy.program_output import output_of
from loadstone.software.mariadb.local import find


def server() -> Fact:
    """The MariaDB that would be started."""
    found = find("mariadbd")
    if found is None or find("mariadb-install-db") is None:
        remedy = "Debian: apt-get install mariadb-server; or --server NAME=mariadb://..."
        return Fact("mariadb", "not installed", "warn", remedy)
    said = re.search(r"Ver (\S+)", output_of(str(found), "--version") or "")
    return Fact("mariadb", f"{said[1] if said else 'installed'} ({found})", "ok")
