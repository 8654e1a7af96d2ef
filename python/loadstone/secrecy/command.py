"""A command line as it may be recorded: secrets in its arguments replaced."""

from collections.abc import Iterator, Sequence

from loadstone.secrecy.known_secrets import hide, label
from loadstone.secrecy.places import names_secret
from loadstone.secrecy.text import hide_url

_URLS = ("--server", "--subject")
_SETTING = "--set"


def hidden_arguments(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command without secrets: settings by their path, URLs by what stands before their last `@`."""
    return list(_hidden(arguments))


def _hidden(arguments: Sequence[str]) -> Iterator[str]:
    option = ""
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name in (*_URLS, _SETTING) and equals:
            yield f"{name}={_value(name, value)}"
        else:
            yield _value(option, argument)
        option = argument


def _value(option: str, argument: str) -> str:
    """The value of an option; any other word where there is none."""
    name, equals, value = argument.partition("=")
    if option == _SETTING and equals:
        before, _, key = name.rpartition(".")
        secret = names_secret(before.rpartition(".")[2], key)
        return f"{name}={label(value) if secret and value else hide(value)}"
    if option in _URLS:
        return hide(f"{name}={hide_url(value)}" if equals and "://" not in name else hide_url(argument))
    return hide(hide_url(argument) if "://" in argument and " " not in argument else argument)
