"""A command line as it may be recorded: secrets in its arguments replaced."""

from collections.abc import Iterator, Sequence

from loadstone.safety.secrets.in_texts import hide_url
from loadstone.safety.secrets.known import label, redact
from loadstone.safety.secrets.places import HEADERS, names_secret

_URLS = ("--server", "--subject")
_SETTING = "--set"
_HEADER, _SHORT_HEADER = "--header", "-H"


def hidden_arguments(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command without secrets: settings by their path, URLs by what stands before their last `@`."""
    return list(_hidden(arguments))


def _hidden(arguments: Sequence[str]) -> Iterator[str]:
    option = ""
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name in (*_URLS, _SETTING, _HEADER) and equals:
            yield f"{name}={_value(name, value)}"
        elif argument.startswith(_SHORT_HEADER) and argument != _SHORT_HEADER:
            yield f"{_SHORT_HEADER}{_header(argument.removeprefix(_SHORT_HEADER))}"
        else:
            yield _value(option, argument)
        option = argument


def _value(option: str, argument: str) -> str:
    """The value of an option; any other word where `option` is not one that takes a secret."""
    name, equals, value = argument.partition("=")
    if option == _SETTING and equals:
        before, _, key = name.rpartition(".")
        secret = names_secret(before.rpartition(".")[2], key)
        return f"{name}={label(value) if secret and value else redact(value)}"
    if option in (_HEADER, _SHORT_HEADER):
        return _header(argument)
    if option in _URLS:
        return redact(f"{name}={hide_url(value)}" if equals and "://" not in name else hide_url(argument))
    return redact(hide_url(argument) if "://" in argument and " " not in argument else argument)


def _header(text: str) -> str:
    """A header as `NAME: VALUE`. However short its secret is: elsewhere it could not be distinguished, here it can."""
    name, colon, value = text.partition(":")
    value = value.strip()
    secret = colon and value and names_secret(HEADERS[0], name.strip())
    return f"{name}: {label(value)}" if secret else redact(text)
