"""Lists by hand that name every software, or every kind of server: none is missing from one."""

import re
from pathlib import Path

import pytest

from loadstone.experiment.software import SOFTWARE, Software, with_tables
from loadstone.safety.secrets.in_texts import hide_shown
from loadstone.safety.secrets.known import _COMMON
from loadstone.servers import registry, software_room

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ROOMS = ROOT / "python" / "loadstone" / "servers"
FILES = re.findall(r"^    (\w+\.py)  ", software_room.__doc__ or "", re.M)
EVERY_SOFTWARE = [pytest.param(one, id=one.name) for one in SOFTWARE.values()]


def test_every_kind_of_server_is_in_the_list_of_all() -> None:
    table = (DOCS / "containers.md").read_text().split("\n## ")[0]
    assert sorted(re.findall(r"^\| `([\w-]+)` \|", table, re.M)) == sorted(registry.SERVERS)


@pytest.mark.parametrize("page", ["monitors.md", "your-servers.md"])
@pytest.mark.parametrize("software", EVERY_SOFTWARE)
def test_every_software_has_its_section(page: str, software: Software) -> None:
    assert f"\n## {software.title}\n" in (DOCS / page).read_text()


@pytest.mark.parametrize("software", with_tables(), ids=lambda one: one.name)
def test_every_database_has_its_section_among_the_subjects(software: Software) -> None:
    section = (DOCS / "subjects.md").read_text().split(f"\n## {software.title}\n")[1].split("\n## ")[0]
    assert all(f"`kind: {kind}`" in section for kind in software.kinds)


@pytest.mark.parametrize("software", EVERY_SOFTWARE)
def test_the_schema_has_every_kind(software: Software) -> None:
    for kind in software.kinds:
        assert kind in registry.server_union().json_schema()["discriminator"]["mapping"]


@pytest.mark.parametrize("software", EVERY_SOFTWARE)
def test_a_password_in_a_url_that_lost_a_slash_is_hidden(software: Software) -> None:
    for scheme in software.schemes:
        if scheme != "unix":  # which names a file, and has no password before an @
            assert "hunter2" not in hide_shown(f"{scheme}:/me:hunter2@host/db")


@pytest.mark.parametrize("software", EVERY_SOFTWARE)
def test_the_name_of_a_software_is_too_common_to_be_hidden(software: Software) -> None:
    assert software.name in _COMMON


@pytest.mark.parametrize("software", EVERY_SOFTWARE)
def test_a_room_has_the_files_that_all_have(software: Software) -> None:
    assert len(FILES) > 5
    assert [name for name in FILES if not (ROOMS / software.name / name).is_file()] == []
