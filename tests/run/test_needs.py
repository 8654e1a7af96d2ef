"""All that a run lacks is named at once, with one line that gets it, before anything is built."""

import platform
import re
from pathlib import Path

import pytest

from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.machine import extras, fetched_programs, installed_programs
from loadstone.machine.needs import Need, line_for, programs_needed
from loadstone.programs.manifest import Manifest
from loadstone.run.needs import needs_of, require_all
from loadstone.run.prepare import prepare, requested_experiment, requested_plan
from loadstone.run.request import RunRequest
from loadstone.run.setup import examine_needs, set_up
from loadstone.safety.errors import UserError
from loadstone.servers.mariadb.local import FETCHED
from loadstone.servers.redis import packages


def planned(options: RunRequest) -> RunPlan:
    return requested_plan(requested_experiment(options), options)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Debian without any program that a study needs; the folder that is its PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for software in ("mariadb", "memcached"):
        monkeypatch.setattr(f"loadstone.servers.{software}.local.OTHER_PLACES", ())
    for module in ("installed_programs.platform", "fetched_programs.platform"):
        monkeypatch.setattr(f"loadstone.machine.{module}.system", lambda: "Linux")
        monkeypatch.setattr(f"loadstone.machine.{module}.machine", lambda: "x86_64")
    release = tmp_path / "os-release"
    release.write_text("ID=debian\n")
    monkeypatch.setattr(installed_programs, "OS_RELEASE", release)
    installed_programs.installers.cache_clear()
    return tmp_path


def program(folder: Path, name: str, version: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\necho {version}\n")
    (folder / name).chmod(0o755)


def test_all_that_a_study_lacks_is_named_at_once_and_nothing_is_built(bare: Path) -> None:
    with pytest.raises(UserError) as refused:
        prepare(RunRequest(experiment="memory-vs-disk", quick=True))
    assert str(refused.value) == (
        "this machine lacks mariadbd (server mariadb), java 17 (subject spring), javac 17 (subject spring), "
        "mvn 3.6 (subject spring); get all by: apt-get install mariadb-server default-jdk-headless maven"
    )
    assert not (bare / "cache" / "loadstone" / "subjects").exists()


def test_what_a_registry_has_takes_no_root_once_its_client_is_there(bare: Path) -> None:
    for name, version in (
        ("java", "17.0.1"),
        ("javac", "17.0.1"),
        ("mvn", "3.9.1"),
        ("node", "18.1.0"),
        ("npm", "9.1"),
    ):
        program(bare, name, version)
    with pytest.raises(UserError) as refused:
        prepare(RunRequest(experiment="local-vs-cloud", quick=True, only=("redis=local",)))
    assert str(refused.value) == (
        "this machine lacks mariadbd (server mariadb), node 20.19 (subject nest: 18.1.0 is too old), "
        "npm 10 (subject nest: 9.1 is too old); get all by: loadstone setup local-vs-cloud --only redis=local "
        f"(which fetches MariaDB {FETCHED.version}, 149 MB; Node {fetched_programs.NODE.version}, 61 MB)"
    )


def test_a_client_library_that_is_missing_can_be_left_out(bare: Path) -> None:
    program(bare, "python3", "3.13.1")
    with pytest.raises(UserError) as refused:
        prepare(RunRequest(experiment="client-libraries", quick=True))
    text = str(refused.value)
    assert "go 1.26 (driver go-redis)" in text
    assert "javac 17 (driver jedis, driver lettuce)" in text
    assert "; by hand: go 1.26: https://go.dev/dl" in text
    assert re.search(r"; or measure the others: --only client=(native,redis-py|redis-py,native)$", text)


def test_what_is_on_a_server_of_the_users_is_not_needed_here(bare: Path) -> None:
    assert bare.is_dir()
    options = RunRequest(experiment="caches", only=("cache=memcached",))
    assert [need.name for need in needs_of(planned(options)) if need.problem] == ["memcached"]
    elsewhere = RunRequest(experiment="caches", only=("cache=memcached",), servers=("memcached=memcached://h:1",))
    require_all(planned(elsewhere), elsewhere)


def test_an_extra_is_installed_by_pip_where_the_run_has_no_name(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bare.is_dir()
    monkeypatch.setattr(extras, "HAVE_JSON", {(platform.system(), platform.machine())})
    monkeypatch.setattr(packages, "JSON_WHEEL", "no-such-wheel")
    named = RunRequest(experiment="json-documents")
    with pytest.raises(
        UserError, match=r"lacks RedisJSON \(server redis\); get all by: loadstone setup json-documents"
    ):
        require_all(planned(named), named)
    typed = RunRequest(described=requested_experiment(named).source)
    with pytest.raises(UserError, match=r"get all by: .*pip install .*loadstone\[json\].* \(which fetches .* MB\)$"):
        require_all(planned(named), typed)


def test_one_line_gets_all(bare: Path) -> None:
    program(bare, "mvn", "3.9.1")
    lacking = [
        Need("mariadbd", "server a", "not installed", packages=("mariadb-server", "b", "c"), fetched=FETCHED),
        Need("memcached", "server b", "not installed", packages=("memcached", "b", "c")),
        Need("postgres", "server c", "not installed", packages=("postgresql", "b", "c")),
    ]
    assert line_for(lacking, ["loadstone", "setup", "x y"]) == (
        "apt-get install memcached postgresql && loadstone setup 'x y'"
    )
    assert line_for(lacking, ()) == "apt-get install mariadb-server memcached postgresql"
    assert line_for([], ["loadstone", "setup", "x"]) == ""


def test_doctor_of_a_study_shows_what_is_there_and_what_is_not(bare: Path) -> None:
    program(bare, "memcached", "1.6.30")
    said: list[str] = []
    options = RunRequest(experiment="caches")
    assert examine_needs(options, said.append)
    assert [line.split()[:2] for line in said] == [["ok", "memcached"], ["ok", "redis-server"], ["ok", "valkey-server"]]
    (bare / "memcached").unlink()
    said.clear()
    assert not examine_needs(options, said.append)
    assert "lacks  memcached        not installed (server memcached)" in said
    assert said[-1] == "get all by: apt-get install memcached"


def test_set_up_fetches_what_a_registry_has_and_says_what_it_has_not(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, version in (("java", "17.0.1"), ("javac", "17.0.1"), ("mvn", "3.9.1")):
        program(bare, name, version)
    fetched: list[str] = []

    def fetch(self: fetched_programs.MavenArchive, _unpacked: Path, _scratch: Path) -> None:
        fetched.append(self.name)
        for inside, name in (("bin", "mariadbd"), ("scripts", "mariadb-install-db")):
            (_unpacked / inside).mkdir()
            (_unpacked / inside / name).touch(mode=0o755)

    monkeypatch.setattr(fetched_programs.MavenArchive, "_fetch_into", fetch)
    said: list[str] = []
    set_up(RunRequest(experiment="memory-vs-disk"), said.append)
    assert fetched == ["MariaDB"]
    assert said[-1] == "all that memory-vs-disk needs is here"
    monkeypatch.setattr("loadstone.servers.postgresql.local.find", lambda _: None)
    with pytest.raises(
        UserError, match=r"lacks postgres \(server postgresql\); get all by: apt-get install postgresql$"
    ):
        set_up(RunRequest(experiment="memory-vs-disk", only=("store=mariadb,postgresql",)), said.append)


def test_no_program_that_a_stranger_names_is_started(bare: Path) -> None:
    """`doctor FILE` and `setup FILE` ask for no consent; `run` does, and asks each program for its version."""
    (bare / "tool").write_text(f"#!/bin/sh\necho 1.0\n: >{bare}/started\n")
    (bare / "tool").chmod(0o755)
    program(bare, "java", "16.0.1")
    subject = Manifest.model_validate(
        {"name": "shop", "run": {"command": "tool {port}"}, "requires": {"tool": "2", "gone": "1", "java": "17"}}
    )
    needs = programs_needed("subject shop", subject, trusted=False)
    assert {need.name: str(need.problem) for need in needs} == {
        "tool 2": "", "gone 1": "not installed", "java 17": "16.0.1 is too old"
    }  # fmt: skip
    assert not (bare / "started").exists()
    needs = programs_needed("subject shop", subject, trusted=True)
    assert str(needs[0].problem) == "1.0 is too old"
    assert (bare / "started").exists()
