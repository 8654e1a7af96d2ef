"""What the URLs of all servers have in common: host, password, TLS, and the options after `?`."""

import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote

from pydantic import AfterValidator, ValidationError

from loadstone.experiment.plan.endpoints import Tls
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_texts import REDACTED
from loadstone.safety.secrets.known import learn
from loadstone.text.message import said
from loadstone.text.problem import Problem

TLS_OPTIONS = ("ca_file", "verify", "server_name", "cert_file", "key_file")
TRUTH = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def valid_by(parse: Callable[[str], object]) -> AfterValidator:
    """For a field that holds a URL: what `parse` refuses is an error of the field, with the message of `parse`."""

    def check(url: str) -> str:
        try:
            parse(url)
        except UserError as error:
            raise ValueError(str(error).removeprefix("url ")) from None
        return url

    return AfterValidator(check)


def host_of(parts: SplitResult) -> str | None:
    """The host that a URL names. Raises ValueError for what no host can be called: it is not even looked up."""
    host = parts.hostname
    if host is None or ":" in host:  # an address of IPv6 was read by `urlsplit`
        return host
    try:
        host.encode("idna")
    except UnicodeError:
        raise Problem("a host has parts of 1 to 63 characters with dots between them") from None
    if not host.isprintable() or " " in host:
        raise Problem("its host holds a space or a control character")
    return host


def port_of(parts: SplitResult) -> int | None:
    """The port that a URL names; None where it names none.

    Raises ValueError, without what stands in its place: a password with a `/` in it ends there.
    """
    try:
        return parts.port
    except ValueError:
        raise Problem(
            "its port is no number from 0 to 65535; write '/', '?' and '#' in a password as %2F, %3F and %23"
        ) from None


def unfit(shown: str, error: ValidationError) -> UserError:
    """What of a URL makes no endpoint: the field, and why."""
    first = error.errors()[0]
    return UserError("url '{shown}': {field}: {why}", shown=shown, field=first["loc"][0], why=first["msg"])


def options_of(parts: SplitResult, known: Sequence[str], shown: str) -> dict[str, str]:
    """The options by name. `shown` is the URL without its password. Raises UserError if one is not known."""
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            known_ones = said("known are {names}", names=", ".join(known))
            hint = said("did you mean '{close}'?", close=near[0]) if near else known_ones
            raise UserError("url '{shown}': unknown option '{name}'; {hint}", shown=shown, name=name, hint=hint)
    return options


def password_of(parts: SplitResult, options: Mapping[str, str], shown: str) -> str | None:
    """That of the URL, or of the variable that `password_env` names. Raises UserError if there is no such variable."""
    variable = options.get("password_env")
    if variable is None:
        return register_password(unquote(parts.password)) if parts.password else None
    if variable not in os.environ:
        raise UserError(
            "url '{shown}': password_env: the environment has no variable '{variable}'; export it",
            shown=shown,
            variable=variable,
        )
    return register_password(os.environ[variable], f"${{env:{variable}}}")


def register_password(password: str, label: str = REDACTED) -> str:
    """The password; it is hidden from now on, and `label` stands in its place."""
    learn(password, label)
    return password


def tls_of(options: Mapping[str, str], shown: str) -> Tls:
    """Return how the server's certificate is verified. Raises UserError for a `verify` that is neither yes nor no."""
    given: dict[str, Any] = {name: options[name] for name in TLS_OPTIONS if name in options}
    if "verify" in given:
        given["verify"] = parse_bool("verify", given["verify"], shown)
    return Tls(**given)


def parse_bool(name: str, value: str, shown: str) -> bool:
    """Whether an option is yes. Raises UserError if it is neither yes nor no."""
    if value not in TRUTH:
        raise UserError("url '{shown}': {name} '{value}' is neither yes nor no", shown=shown, name=name, value=value)
    return TRUTH[value]
