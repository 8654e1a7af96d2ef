"""Which start of a MariaDB answers: it has no number for each, but says for how long it has been running."""

import math
import time

from loadstone.bounds.replies import read_as
from loadstone.deploy.control import Start
from loadstone.errors import LoadstoneError
from loadstone.software.mariadb.session import MariaDbSession


def start_of(control: MariaDbSession) -> Start:
    """By its uptime, in whole seconds; without one where the server does not answer."""
    try:
        rows = control.query("SHOW GLOBAL STATUS LIKE 'Uptime'")
        with read_as(control.endpoint.label, "SHOW GLOBAL STATUS", "its uptime"):
            uptime_s = float(rows[0][1])
    except LoadstoneError:
        return Start(None)
    return Start(None, uptime_s if math.isfinite(uptime_s) else None, time.monotonic())
