"""Private connections to servers: TLS, and a remark where a connection is exposed."""

import ipaddress
import ssl
from pathlib import Path

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.machine.start_context import LastingStep
from loadstone.safety.errors import UserError
from loadstone.servers.server import DeployContext
from loadstone.text.language import in_language
from loadstone.text.message import AnyText, said


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its name or address alone (RFC 6761 6.3, RFC 1122 3.2.1.3, RFC 4291 2.5.3).

    No name is looked up. A zone (`::1%lo`) is part of an address of IPv6 alone: with `%` and more behind it all else
    is a name, of which only a resolver can tell where it leads.
    """
    name = host.lower().removesuffix(".")
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


def exposure(name: str, endpoint: Endpoint) -> AnyText | None:
    """What others on the way can do, as one line; None where they can do nothing, or where nothing secret goes.

    `name` is what people call it. A server without a password is open to others anyway.
    """
    if stays_here(endpoint) or endpoint.password is None:
        return None
    if endpoint.tls is None:
        return said(
            "{name}: its connections to {address} are not encrypted: anyone on the network path can read the log-in "
            "and the data, and change them",
            name=name,
            address=endpoint.label,
        )
    if not endpoint.tls.verify:
        return said(
            "{name}: the certificate of {address} is not verified: anyone on the network path can impersonate it, and "
            "read the log-in and the data",
            name=name,
            address=endpoint.label,
        )
    return None


def remark_on_exposure(context: DeployContext, name: str, endpoint: Endpoint) -> None:
    """A remark of the run's, if there is something to say; nothing is refused: many private networks do without."""
    told = exposure(name, endpoint)
    if told is not None:
        context.progress(LastingStep(in_language(told)))


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Return how a connection is encrypted and verified.

    Raises:
        UserError: a file that `tls` names cannot be read.
    """
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
        if not tls.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if tls.cert_file is not None:
            context.load_cert_chain(tls.cert_file, tls.key_file)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(f for f in (tls.ca_file, tls.cert_file, tls.key_file) if f)
        raise UserError(
            "tls: cannot use {files} ({error}); name readable PEM files", files=files, error=error_text(error)
        ) from None
    return context


_EXPIRED, _NOT_YET, _SELF_SIGNED, _ANOTHER_NAME = (10,), (9,), (18,), (62, 64)
"""X509_V_ERR codes of OpenSSL, by what they say of a certificate."""


def certificate_problem(error: ssl.SSLCertVerificationError, unverified: str) -> AnyText:
    """Why a server's certificate is not accepted, and what helps, to follow the server's address.

    Args:
        error: of the handshake.
        unverified: the option of the URL that gives up verification, e.g. `?verify=no`.
    """
    code = error.verify_code
    told: AnyText = error.verify_message.rstrip(".")
    if code in _EXPIRED:
        remedy = said("have it renewed on the server")
    elif code in _NOT_YET:
        remedy = said("check this machine's clock, or have it renewed on the server")
    elif code in _ANOTHER_NAME:
        remedy = said("give the name that it is made for with ?server_name=NAME (and its CA with ?ca_file=FILE)")
    elif code in _SELF_SIGNED:
        told = said("it is self-signed")
        remedy = said("name the certificate itself with ?ca_file=FILE")
    else:
        told = said("it is signed by a CA that is not trusted here: {told}", told=told)
        remedy = said("name the CA that signed it with ?ca_file=FILE")
    return said(
        "its certificate is not accepted ({told}); {remedy}, or give up verification with {option}",
        told=told,
        remedy=remedy,
        option=unverified,
    )


def ca_file_of(tls: Tls | None) -> str:
    """The file of the CA that signed a server's certificate, for others; empty: one that this machine trusts."""
    return str(Path(tls.ca_file).absolute()) if tls and tls.ca_file else ""


def error_text(error: BaseException) -> str:
    """What an error says, for a person, on one line; with the code that a server's error began with."""
    for origin in (error, error.__cause__, error.__context__):
        if isinstance(origin, OSError) and origin.strerror:
            return origin.strerror
    text = " ".join(str(error).split())
    code = getattr(error, "status_code", None)
    if isinstance(code, str) and not text.startswith(code):
        text = f"{code} {text}"
    return text.rstrip(".") or type(error).__name__
