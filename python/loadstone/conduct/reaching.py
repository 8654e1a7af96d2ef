"""What may lead outside: addresses, by their texts alone; for settings see `software.known_settings`.

A rule of safety: what matches is shown and asked about before a stranger's experiment is run. In doubt it matches.
"""

import re
from urllib.parse import urlsplit

from loadstone.deploy.transport import is_loopback
from loadstone.secrecy.text import REFERENCE


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
