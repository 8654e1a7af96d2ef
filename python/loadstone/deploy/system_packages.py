"""How a program that is not here is installed, by the system's own packages: apt, dnf or brew."""

import platform
import re
from functools import cache
from pathlib import Path

OS_RELEASE = Path("/etc/os-release")
APT, DNF, BREW = "apt-get install", "dnf install", "brew install"
_DEBIAN, _FEDORA = {"debian", "ubuntu"}, {"fedora", "rhel", "centos", "suse"}
_PACKAGES: dict[str, tuple[str, str, str]] = {
    "go": ("golang-go", "golang", "go"),
    "java": ("default-jdk-headless", "java-latest-openjdk-headless", "openjdk"),
    "mvn": ("maven", "maven", "maven"),
    "node": ("nodejs npm", "nodejs npm", "node"),
    "npm": ("npm", "npm", "node"),
    "python3": ("python3 python3-venv", "python3", "python"),
}
"""Program -> its package for each of the three."""
_OF_ITS_OWN = {"go": "https://go.dev/dl", "node": "https://nodejs.org"}
"""Where there are newer ones than systems have."""


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


def how_to_get(program: str) -> str:
    """The command line that installs a program here, with its maker's page if systems often have an old one.

    Empty for a program that is not known.
    """
    packages = _PACKAGES.get(program)
    if packages is None:
        return ""
    page = _OF_ITS_OWN.get(program)
    return install_line(*packages) + (f" ({page})" if page else "")


def install_line(apt: str, dnf: str, brew: str) -> str:
    """The command line that installs one of these packages here; all of them where the system is not known."""
    named = {APT: apt, DNF: dnf, BREW: brew}
    return " / ".join(f"{command} {named[command]}" for command in installers())
