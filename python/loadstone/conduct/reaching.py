"""What may lead outside: variables and addresses, by their names and texts alone; settings: `software.known_settings`.

A rule of safety: what matches is shown and asked about before a stranger's experiment is run. In doubt it matches.
"""

import re
from urllib.parse import urlsplit

from loadstone.deploy.transport import is_loopback
from loadstone.secrecy.text import REFERENCE

_LEADING_NAME = re.compile(
    r"^LD_|BASH_ENV|^ENV$|CERT|AGENT|OPT|PATH|PRELOAD|HOST|UR[IL]|ADDR|CLASS|CONF|FILE|DIR|HOME|COMMAND|SHELL|PROXY|IMPORT|PROFILE"
)
"""In names of variables that lead a program to code, files or addresses of others."""
_WORD = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*|")


def may_lead(name: str, value: str) -> bool:
    """Whether a variable for an application of ours may make it load code or connect elsewhere."""
    return bool(_LEADING_NAME.search(name.upper())) or not _WORD.fullmatch(value)


def is_here(address: str) -> bool:
    """Whether the address of a place is this machine's, by its text alone."""
    parts = urlsplit(address)
    if not parts.netloc:
        return True  # a socket
    hosts = [urlsplit(f"//{one}").hostname for one in parts.netloc.rpartition("@")[2].split(",")]
    return all(host is not None and is_loopback(host) for host in hosts)


def names_variable_as_host(url: str) -> bool:
    """Whether a variable's value stands in the host of a URL as it is written: then nobody can tell where it leads."""
    rest = url.partition("://")[2] if "://" in url else url
    return REFERENCE.search(re.split(r"[/?#]", REFERENCE.sub("${env:X}", rest).rpartition("@")[2])[0]) is not None
