"""From a message of the command line to the field of a form that it is about, without the option's name."""

import re
from collections.abc import Collection

from loadstone.text.language import in_language
from loadstone.text.message import AnyText

_OF_OPTION = re.compile(r"--(?P<option>[a-z-]+)(?: (?P<value>.*?))?: (?P<rest>.+)", re.DOTALL)
_OF_URL = re.compile(r"URL '[^']*': (?P<rest>.+)", re.DOTALL)
_OF_NAME = re.compile(r"(?P<name>[\w.-]+): (?P<rest>.+)", re.DOTALL)
_FIELDS = {"duration": "time"}
"""Options whose field has another name."""


def at_field(error: AnyText, fields: Collection[str]) -> tuple[str, str]:
    """The field of a form, empty where it is about none of these; and what is wrong.

    Args:
        error: as the command line says it.
        fields: the names of the form's fields.
    """
    text = in_language(error)
    if found := _OF_OPTION.fullmatch(text):
        name, _, _ = (found["value"] or "").partition("=")
        option, rest = _FIELDS.get(found["option"], found["option"]), found["rest"]
        if option == "set":
            return (f"set.{name}", rest) if f"set.{name}" in fields else ("further", f"{found['value']}: {rest}")
        if f"{option}.{name}" in fields:
            return f"{option}.{name}", rest.replace(f"{name}=", "")
        return (option, rest) if option in fields else ("", text)
    if "url" in fields and (found := _OF_URL.fullmatch(text)):
        return "url", found["rest"]
    if (found := _OF_NAME.fullmatch(text)) and f"level.{found['name']}" in fields:
        return f"level.{found['name']}", found["rest"]
    return "", text
