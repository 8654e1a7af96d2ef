"""Resolves secrets: `${env:NAME}`, a variable, and `${secret:NAME}`, a file named by `--secret-file NAME=PATH`.

What is given so is secret by definition, wherever it stands. The reference stays in the experiment as it was resolved
and recorded; its value is put in only where a plan is made of it.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, unquote

from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_texts import REFERENCE, is_surely_secret, logins_in
from loadstone.safety.secrets.known import learn
from loadstone.safety.secrets.places import secrets_of
from loadstone.text.message import said

LARGEST_BYTES = 65_536
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FOLDERS = ("PWD", "OLDPWD")
"""Variables of shells: folders, although they are called as passwords are."""
_FILES: dict[str, str] = {}
_VARIABLES: set[str] = set()


def give_files(options: Iterable[str]) -> None:
    """Read the files of `--secret-file NAME=PATH`; of one name the last counts. Raises UserError."""
    for option in options:
        name, equals, path = option.partition("=")
        if not equals or not _NAME.fullmatch(name) or not path:
            raise UserError("--secret-file: write NAME=PATH, with letters, digits and _ in the name")
        _FILES[name] = _read(name, Path(path))
        learn(_FILES[name], f"${{secret:{name}}}")


def learn_environment() -> None:
    """Variables of our own whose names say that they are secret: what we start inherits them, and may print them."""
    for name, value in os.environ.items():
        if is_surely_secret(name) and name not in _FOLDERS:
            learn(value, f"${{env:{name}}}", sure=False)


def learn_options(options: Iterable[str]) -> None:
    """The passwords of `NAME=URL` options, before one of them can stand in an error."""
    for option in options:
        for place in ({"url": option}, {"url": option.partition("=")[2]}):
            for secret in secrets_of(place):
                learn(secret.value, sure=secret.sure)


def learn_commands(commands: Iterable[str]) -> None:
    """The passwords of command lines, before one of them can stand in a name or an error."""
    for command in commands:
        for secret in secrets_of({"command": command}):
            learn(secret.value, sure=secret.sure)


def resolve(text: str, *, template: bool = False) -> str:
    """The text with the secret for each reference. Raises UserError, without a place, where a secret is missing.

    `template`: braces of a value are doubled, as texts of requests and commands are read. What stands for a password
    in a URL is %-encoded.
    """
    if "${" not in text:
        return text
    logins = logins_in(text)

    def secret(reference: re.Match[str]) -> str:
        value = _value(reference["where"], reference["name"])
        if any(start <= reference.start() < end and ":" in text[start : reference.start()] for start, end in logins):
            return quote(value, safe="")
        return value.replace("{", "{{").replace("}", "}}") if template else value

    return REFERENCE.sub(secret, text)


def forget() -> None:
    """Know no variable and no file any more."""
    _VARIABLES.clear()
    _FILES.clear()


def variables() -> frozenset[str]:
    """The variables that references named until now: what stands in them is for where the reference stands alone."""
    return frozenset(_VARIABLES)


def _value(where: str, name: str) -> str:
    reference = f"${{{where}:{name}}}"
    if not _NAME.fullmatch(name):
        raise UserError("'{reference}' is no reference; write ${{env:NAME}} or ${{secret:NAME}}", reference=reference)
    if where == "env":
        value = os.environ.get(name, "")
        if not value:
            state = said("is empty") if name in os.environ else said("does not exist")
            raise UserError(
                "'{reference}': the variable {name} {state} in the environment; export it",
                reference=reference,
                name=name,
                state=state,
            )
        _VARIABLES.add(name)
    elif name not in _FILES:
        raise UserError(
            "'{reference}': no file was named for it; add --secret-file {name}=PATH", reference=reference, name=name
        )
    else:
        value = _FILES[name]
    learn(value, reference)
    for start, end in logins_in(value):  # of a whole URL: a server's error may name the user
        for part in value[start:end].split(":", 1):
            for form in (part, unquote(part)):
                learn(form, reference)
    return value


def _read(name: str, path: Path) -> str:
    """The text of a file, or of a pipe (`<(...)`), without the newline at its end."""
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_BYTES + 1)
        text = raw.decode()
    except OSError as error:
        named = f"{name}: {path}" if os.path.lexists(path) else name  # it may be the secret itself, not its file
        raise UserError(
            "--secret-file {named} cannot be read ({strerror}); write NAME=PATH of a file",
            named=named,
            strerror=error.strerror,
        ) from None
    except UnicodeDecodeError:
        raise UserError(
            "--secret-file {name}: {path} is not text in UTF-8; write the secret as text", name=name, path=path
        ) from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text or len(raw) > LARGEST_BYTES or "\0" in text:
        wrong = said("is longer than {most} bytes", most=LARGEST_BYTES)
        if not text or "\0" in text:
            wrong = said("holds NUL") if text else said("is empty")
        raise UserError(
            "--secret-file {name}: {path} {wrong}; write the secret alone into it", name=name, path=path, wrong=wrong
        )
    return text
