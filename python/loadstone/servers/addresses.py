"""Where endpoints are, whatever they are called: two names may lead to one process."""

import socket
from collections.abc import Sequence

from loadstone.experiment.plan.endpoints import Endpoint


def resolved(endpoints: Sequence[Endpoint]) -> tuple[str, ...]:
    """The addresses of all endpoints, each as `address:port` or as the path of a socket, in their order.

    Empty where one cannot be resolved.
    """
    found: set[str] = set()
    for endpoint in endpoints:
        if endpoint.unix_path is not None:
            found.add(endpoint.unix_path)
            continue
        try:
            known = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return ()
        found.update(f"{address[0]}:{endpoint.port}" for *_, address in known)
    return tuple(sorted(found))
