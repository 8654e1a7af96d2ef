"""Certificates of a fleet, and the files of servers' TLS on its agents.

A fleet has an authority that exists for a moment, and a certificate for each part, signed by it. Dask asks a partner
for a certificate of this authority, whatever its name. So **a certificate is the right to run code on every agent**.
They live for days. The authority's own key is never written: nobody can add a certificate later; new ones replace all.
The command's is good for a client alone, so who has it cannot pose as a scheduler or an agent.

The files of servers' TLS (`rediss://...?ca_file=FILE`) stand on the command's machine. Their texts go with the plan,
and are in memory alone on an agent: a key is a secret. Where the system has no files in memory (all but Linux), they
are looked for under the names that the plan has.
"""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from loadstone.machine.extras import how_to_add
from loadstone.safety.bounds.folder_files import replace_file
from loadstone.safety.errors import DriveFailed, UserError
from loadstone.text.message import AnyText, said

if TYPE_CHECKING:
    from loadstone.experiment.plan.drive_plan import Plan

CertifiedPart = Literal["scheduler", "agent", "command"]
PARTS: tuple[CertifiedPart, ...] = ("scheduler", "agent", "command")
AUTHORITY = "ca.pem"
FOLDER_VARIABLE = "LOADSTONE_FLEET_CERTIFICATES"
DAYS = 7
DAYS_MAX = 90
_EARLIER = timedelta(minutes=10)
"""How far another machine's clock may be behind, and still take a new certificate."""


@dataclass(frozen=True)
class Credential:
    """What one part proves itself by, and knows the others by; PEM texts."""

    authority: str
    own: str = field(repr=False)
    """Its key and its certificate."""


def made(days: float = DAYS, now: datetime | None = None) -> Mapping[CertifiedPart, Credential]:
    """New certificates for all parts, of a new authority. Raises UserError if the library for it is not installed."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
    except ImportError:
        raise UserError(
            "fleet certificates: the library cryptography is missing; type {how}", how=how_to_add("fleet")
        ) from None
    begin = (now or datetime.now(UTC)) - _EARLIER
    end = begin + _EARLIER + timedelta(days=days)
    client, server = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
    uses = {"scheduler": [server, client], "agent": [server, client], "command": [client]}

    def named(name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"loadstone fleet {name}")])

    def usage(*, signs_others: bool) -> x509.KeyUsage:
        return x509.KeyUsage(
            digital_signature=not signs_others,
            key_cert_sign=signs_others,
            crl_sign=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )

    def begun(name: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder(subject_name=named(name), issuer_name=named("authority"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(end)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )

    signing = ec.generate_private_key(ec.SECP256R1())
    authority = (
        begun("authority", signing)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage(signs_others=True), critical=True)
        .sign(signing, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
        .decode()
    )
    issued: dict[CertifiedPart, Credential] = {}
    for part in PARTS:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            begun(part, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(usage(signs_others=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(uses[part]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False)
            .sign(signing, hashes.SHA256())
        )
        own = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ) + certificate.public_bytes(serialization.Encoding.PEM)
        issued[part] = Credential(authority, own.decode())
    return issued


def default_folder() -> Path:
    """Where certificates are looked for: `$LOADSTONE_FLEET_CERTIFICATES`, else `~/.config/loadstone/fleet`.

    Raises UserError where the user has no home.
    """
    named = os.environ.get(FOLDER_VARIABLE)
    root = os.environ.get("XDG_CONFIG_HOME")
    try:
        if named:
            return Path(named).expanduser()
        return (Path(root) if root else Path.home() / ".config") / "loadstone" / "fleet"
    except RuntimeError:  # a user that the system does not know, as a number in a container
        remedy = said("name their folder by --certificates or {variable}, without ~", variable=FOLDER_VARIABLE)
        raise UserError(
            "fleet certificates: {named} has no home folder here; {remedy}",
            named=named or said("your user"),
            remedy=remedy,
        ) from None


def write(folder: Path, credentials: Mapping[CertifiedPart, Credential]) -> None:
    """Write certificates for their owner's eyes alone; those that are there are replaced.

    Raises UserError if the folder is another user's, others can write to it, or they cannot be written.
    """
    try:
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        status = folder.stat()
        if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise UserError(
                "fleet certificates: others can write to {folder}; name a folder of your own, of mode 700",
                folder=folder,
            )
        for part, credential in credentials.items():
            replace_file(folder / f"{part}.pem", credential.own.encode())
        replace_file(folder / AUTHORITY, next(iter(credentials.values())).authority.encode())
    except OSError as error:
        raise UserError(
            "fleet certificates: cannot be written to {folder} ({strerror}); name another folder",
            folder=folder,
            strerror=error.strerror,
        ) from None


def read(folder: Path, part: CertifiedPart, now: datetime | None = None) -> Credential:
    """What a part proves itself by. Raises UserError: missing, open to others, unreadable, expired, not of `ca.pem`."""
    path = folder / f"{part}.pem"
    remedy = said("make new ones: loadstone fleet certificates {folder}", folder=folder)
    try:
        if path.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH):
            raise UserError(
                "fleet certificates: everybody on this machine can read {path}; chmod 600 it, and {remedy}",
                path=path,
                remedy=remedy,
            )
        credential = Credential((folder / AUTHORITY).read_text("ascii"), path.read_text("ascii"))
    except FileNotFoundError as error:
        raise UserError(
            "fleet certificates: {filename} is not there; copy it from where it was made, name its "
            "folder by --certificates or {folder_variable}, or {remedy}",
            filename=error.filename,
            folder_variable=FOLDER_VARIABLE,
            remedy=remedy,
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a certificate"
        raise UserError(
            "fleet certificates: {path} cannot be read ({why}); {remedy}", path=path, why=why, remedy=remedy
        ) from None
    _require_good(credential, path, now or datetime.now(UTC), remedy)
    return credential


def expires(credential: Credential) -> datetime:
    """When it ends to be good. Raises ValueError if it is none."""
    from cryptography import x509

    return x509.load_pem_x509_certificate(credential.own.encode()).not_valid_after_utc


def _require_good(credential: Credential, path: Path, now: datetime, remedy: AnyText) -> None:
    try:
        from cryptography import x509
        from cryptography.exceptions import InvalidSignature
    except ImportError:
        raise UserError(
            "fleet certificates: the library cryptography is missing; type {how}", how=how_to_add("fleet")
        ) from None
    try:
        own = x509.load_pem_x509_certificate(credential.own.encode())
        own.verify_directly_issued_by(x509.load_pem_x509_certificate(credential.authority.encode()))
    except InvalidSignature:
        raise UserError(
            "fleet certificates: {path} is not of {parent}; {remedy}",
            path=path,
            parent=path.parent / AUTHORITY,
            remedy=remedy,
        ) from None
    except (ValueError, TypeError):
        raise UserError("fleet certificates: {path} holds no certificate; {remedy}", path=path, remedy=remedy) from None
    if not own.not_valid_before_utc <= now <= own.not_valid_after_utc:
        word = said("expired") if now > own.not_valid_after_utc else said("is not good before")
        when = own.not_valid_after_utc if now > own.not_valid_after_utc else own.not_valid_before_utc
        raise UserError(
            "fleet certificates: {path} {word} {when:%Y-%m-%d %H:%M} UTC, and it is {now:%Y-%m-%d "
            "%H:%M}; {remedy}, and copy them to every machine",
            path=path,
            word=word,
            when=when,
            now=now,
            remedy=remedy,
        )


TLS_FILES = ("ca_file", "cert_file", "key_file")


def read_tls_files(plans: Sequence["Plan"]) -> dict[str, str]:
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
def tls_files_in_memory(plans: Sequence[dict[str, Any]], texts: Mapping[str, str]) -> Iterator[dict[str, str]]:
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
                tls.update({field: named[tls[field]] for field in TLS_FILES if tls.get(field) in named})
        yield {new: old for old, new in named.items()}
    finally:
        for fd in held:
            os.close(fd)
