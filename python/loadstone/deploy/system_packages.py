"""How a program that is not here is installed, by the system's own packages: apt, dnf or brew."""

import platform
import re
from functools import cache
from pathlib import Path

OS_RELEASE = Path("/etc/os-release")
APT, DNF, BREW = "apt-get install", "dnf install", "brew install"
_DEBIAN, _FEDORA = {"debian", "ubuntu"}, {"fedora", "rhel", "centos", "suse"}
_JDK = ("default-jdk-headless", "java-21-openjdk-devel", "openjdk")
"""Of Fedora and RHEL `devel`: what they call headless runs programs and compiles none."""
_PACKAGES: dict[str, tuple[str, str, str]] = {
    "go": ("", "", "go"),
    "java": _JDK,
    "javac": _JDK,
    "mvn": ("maven", "maven", "maven"),
    "node": ("nodejs npm", "nodejs npm", "node"),
    "npm": ("npm", "npm", "node"),
    "python3": ("python3 python3-venv", "python3", "python"),
}
"""Program -> its package for each of the three; empty where that is too old."""
_OF_ITS_OWN = {
    "go": "https://go.dev/dl",
    "java": "https://adoptium.net",
    "javac": "https://adoptium.net",
    "mvn": "https://maven.apache.org/download.cgi",
    "node": "https://nodejs.org",
    "npm": "https://nodejs.org",
    "python3": "https://www.python.org/downloads",
}
"""Where there are newer ones than systems have."""
_OFTEN_OLD = {"go", "node"}
"""What systems have is often too old."""


@cache
def installers() -> tuple[str, ...]:
    """The command of this system; all three where it is not known."""
    if platform.system() == "Darwin":
        return (BREW,)
    try:
        text = OS_RELEASE.read_text()
    except OSError:
        return (APT, DNF, BREW)
    names = set(re.findall(r"[a-z]+", " ".join(re.findall(r"^ID(?:_LIKE)?=(.*)$", text, re.MULTILINE))))
    if names & _DEBIAN:
        return (APT,)
    return (DNF,) if names & _FEDORA else (APT, DNF, BREW)


def how_to_get(program: str, *others: str, newer: bool = False) -> str:
    """The command line that installs a program here, with its maker's page if systems often have an old one.

    `others`: what is to be installed, too. `newer`: than the one that is here. Empty for a program that is not known.
    """
    page = _OF_ITS_OWN.get(program, "")
    if program not in _PACKAGES or newer:
        return page
    columns = zip(*(_PACKAGES[one] for one in (program, *others) if one in _PACKAGES), strict=True)
    line = install_line(*(" ".join(dict.fromkeys(" ".join(column).split())) for column in columns))
    if program not in _OFTEN_OLD:
        return line
    return f"{line} ({page})" if line else page


def install_line(apt: str, dnf: str, brew: str) -> str:
    """The command line that installs one of these packages here; all of them where the system is not known.

    Empty where the system has none.
    """
    named = {APT: apt, DNF: dnf, BREW: brew}
    return " / ".join(f"{command} {named[command]}" for command in installers() if named[command])
