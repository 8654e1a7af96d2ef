"""What is said to install, by system."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.machine import installed_programs
from loadstone.machine.installed_programs import how_to_get, install_line, installers


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    installers.cache_clear()
    yield
    installers.cache_clear()


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ("ID=debian\n", "apt-get install maven"),
        ('ID=ubuntu\nID_LIKE="debian"\n', "apt-get install maven"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "dnf install maven"),
        ("ID=arch\n", "apt-get install maven / dnf install maven / brew install maven"),
    ],
)
def test_it_is_the_command_of_this_system(
    release: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "os-release").write_text(release)
    monkeypatch.setattr(installed_programs, "OS_RELEASE", tmp_path / "os-release")
    assert how_to_get("mvn") == said


def test_macos_has_brew_and_what_is_often_old_its_makers_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed_programs.platform, "system", lambda: "Darwin")
    assert how_to_get("go") == "brew install go (https://go.dev/dl)"
    assert how_to_get("node") == "brew install node (https://nodejs.org)"
    assert install_line("a", "b", "c") == "brew install c"


def test_what_systems_have_too_old_is_had_from_its_maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed_programs, "OS_RELEASE", tmp_path / "os-release")
    (tmp_path / "os-release").write_text("ID=debian\n")
    assert how_to_get("go") == "https://go.dev/dl"
    assert how_to_get("javac") == "apt-get install default-jdk-headless"
    assert how_to_get("java", "java", "javac", "mvn") == "apt-get install default-jdk-headless maven"
    assert how_to_get("node", "node", "npm") == "apt-get install nodejs npm (https://nodejs.org)"
    assert how_to_get("javac", newer=True) == "https://adoptium.net"
    assert how_to_get("node", newer=True) == "https://nodejs.org"


def test_fedoras_compiler_is_not_in_what_it_calls_headless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed_programs, "OS_RELEASE", tmp_path / "os-release")
    (tmp_path / "os-release").write_text("ID=fedora\n")
    assert how_to_get("java") == how_to_get("javac") == "dnf install java-21-openjdk-devel"


def test_nothing_is_said_of_a_program_that_is_not_known() -> None:
    assert how_to_get("no-such-program") == ""
