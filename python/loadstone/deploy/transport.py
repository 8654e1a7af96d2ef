"""Whether what is said to a server can be read and changed on its way, and the remark that says so."""

import ipaddress

from loadstone.deploy.provider import DeployContext, Remark
from loadstone.plan.model import Endpoint


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its name or address alone (RFC 6761 6.3, RFC 1122 3.2.1.3, RFC 4291 2.5.3).

    No name is looked up.
    """
    name = host.lower().removesuffix(".").partition("%")[0]
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def stays_here(endpoint: Endpoint) -> bool:
    """Whether nothing that is said to it leaves this machine."""
    return endpoint.unix_path is not None or is_loopback(endpoint.host)


def exposure(name: str, endpoint: Endpoint) -> str | None:
    """What others on the way can do, as one line; None where they can do nothing, or where nothing secret goes.

    `name` is what people call it. A server without a password is open to others anyway.
    """
    if stays_here(endpoint) or endpoint.password is None:
        return None
    if endpoint.tls is None:
        return (
            f"{name}: its connections to {endpoint.label} are not encrypted: whoever is on the way can read the log-in "
            "and the data, and change them"
        )
    if not endpoint.tls.verify:
        return (
            f"{name}: the certificate of {endpoint.label} is not verified: whoever is on the way can take its place, "
            "and read the log-in and the data"
        )
    return None


def remark_on_exposure(context: DeployContext, name: str, endpoint: Endpoint) -> None:
    """A remark of the run's, if there is something to say; nothing is refused: many private networks do without."""
    said = exposure(name, endpoint)
    if said is not None:
        context.progress(Remark(said))
