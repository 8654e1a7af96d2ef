"""Texts that pages show without their secrets, and may get back: one that was not shown whole is never written.

A page hides secrets in all that it sends. What a form brings back of such a text has `***` in the place of a password,
and would be written over it. So a text is given to be changed only if it is shown byte by byte.
"""

import html
import re
from dataclasses import dataclass

from markupsafe import escape

from loadstone.experiment.spec.yaml_text import YamlTextError, read_yaml
from loadstone.safety.secrets.in_texts import PROBE, REDACTED, is_open
from loadstone.safety.secrets.known import redact
from loadstone.safety.secrets.places import names_secret, secrets_of

_FIELD = re.compile(r"""^(?P<head>[\s-]*["']?(?P<name>[\w.-]+)["']?\s*:\s*)(?P<value>[^\s#{\[].*)$""", re.MULTILINE)
"""A line of YAML with a value behind its key: what is looked at where the whole cannot be read."""


@dataclass(frozen=True)
class ShownText:
    """A text as a page shows it."""

    text: str
    """Without secrets; empty where they cannot be taken out."""
    whole: bool
    """Whether it is shown as it is: no secret stands in it."""


def shown(source: str) -> ShownText:
    """The text of an experiment as a page may show it. Call it apart: the text may be a stranger's."""
    left = as_page_shows(source)
    placed = _placed(left)
    for value in sorted(placed, key=len, reverse=True):
        left = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", REDACTED, left)
    if placed and _placed(left):  # a secret whose text is written in another form than it has
        left = ""
    return ShownText(left, left == source)


def as_page_shows(text: str) -> str:
    """What becomes of a text that a page shows: secrets are looked for in its HTML."""
    return html.unescape(redact(str(escape(redact(text)))))


def has_mask(text: str) -> bool:
    """Whether `***` stands where a password was hidden."""
    if REDACTED not in text:
        return False
    probed = text.replace(REDACTED, PROBE)
    return as_page_shows(probed) != probed or any(PROBE in value for value in _placed(probed))


def _placed(source: str) -> set[str]:
    """The texts that are secrets by their place, without references."""
    try:
        data, _lines = read_yaml(source)
    except YamlTextError:
        found = {match["value"].strip(" \"'") for match in _FIELD.finditer(source) if names_secret("", match["name"])}
    else:
        found = {secret.value for secret in secrets_of(data) if secret.sure}
    return {value for value in found if value and not is_open(value) and value != REDACTED}
