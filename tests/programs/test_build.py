"""Builds end with loadstone, and happen once; what the documentation shows is right."""

import errno
import fcntl
import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError
from ruamel.yaml import YAML
from tests.real_servers import is_gone, wait_until

from loadstone.experiment.spec.experiment import DataSpec, Experiment, SubjectSpec
from loadstone.experiment.spec.workload import StoredSpec
from loadstone.machine.processes.cache_folder import cache_folder
from loadstone.programs import build as build_module
from loadstone.programs import sources
from loadstone.programs.build import OtherVersion, built, is_unpublished, source_hash
from loadstone.programs.manifest import Manifest, read_manifest
from loadstone.safety.errors import UserError
from loadstone.safety.secrets import references
from loadstone.safety.secrets.references import resolve
from loadstone.servers.mariadb.local import MariaDbSettings
from loadstone.servers.postgresql.local import PostgresqlSettings
from loadstone.servers.server import DeployContext

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    return folder


def manifest(*commands: str, **build: object) -> Manifest:
    build = {"commands": commands, "inputs": ["*.txt"], "output": "b", **build}
    return Manifest.model_validate({"name": "app", "build": build, "run": {"command": "cat {output}"}})


def test_the_hash_follows_what_the_build_is_made_of(folder: Path) -> None:
    def digest(required: Manifest) -> str:
        assert required.build is not None
        return source_hash(required.build, folder)

    first = digest(manifest("cp a.txt b"))
    assert digest(manifest("cp a.txt b")) == first
    assert digest(manifest("cp -p a.txt b")) != first
    (folder / "other.md").write_text("no input")
    assert digest(manifest("cp a.txt b")) == first
    (folder / "a.txt").chmod(0o755)
    executable = digest(manifest("cp a.txt b"))
    assert executable != first
    (folder / "a.txt").rename(folder / "c.txt")
    assert digest(manifest("cp a.txt b")) != executable


def test_another_version_is_built_apart_and_both_are_kept(folder: Path, context: DeployContext) -> None:
    required = manifest("cp a.txt b")
    other = OtherVersion("lib", "2.0", "1.0", ("sh -c 'echo 2.0 >> b'",))
    places = [built(required, folder, context, "driver", one) for one in (None, other, other)]
    assert [(place / "b").read_text() for place in places] == ["a", "2.0\n", "2.0\n"]
    assert places[1].name.startswith("app-2.0-")


PUBLISHED = [
    "[ERROR] Failed to execute goal on project jedis-driver: dependencies: Could not find artifact "
    "redis.clients:jedis:jar:9.9.9 in central (https://repo.maven.apache.org/maven2) -> [Help 1]",
    "ERROR: Could not find a version that satisfies the requirement redis==9.9.9 (from versions: 0.6.0, 8.1.0)",
    "npm error code ETARGET\nnpm error notarget No matching version found for ioredis@99.0.0.",
    "go: github.com/redis/go-redis/v9@v9.99.0: invalid version: unknown revision v9.99.0",
]
UNREACHED = [
    "[ERROR] Could not transfer artifact redis.clients:jedis:pom:9.9.9 from/to central: Connection refused",
    "ERROR: Could not find a version that satisfies the requirement redis==9.9.9 (from versions: none)",
    "npm error code ECONNREFUSED",
    "go: github.com/redis/go-redis/v9@v9.99.0: Get proxy: dial tcp: lookup proxy: no such host",
]


@pytest.mark.fault("a version of a library that does not exist", "one line names it, and one that does", area="drivers")
@pytest.mark.parametrize("log", PUBLISHED)
def test_a_version_that_is_not_published_is_named(log: str, folder: Path, context: DeployContext) -> None:
    (folder / "log.txt").write_text(log)
    other = OtherVersion("lib", "9.9.9", "1.0", ("sh -c 'cat log.txt; exit 1'",))
    with pytest.raises(UserError) as error:
        built(manifest("cp a.txt b"), folder, context, "driver", other)
    assert str(error.value) == (
        "driver app:version=9.9.9: no such version of lib is published; write one that is, as 1.0"
    )
    with pytest.raises(UserError, match=r"^--head app=9\.9\.9: no such version of lib is published"):
        built(manifest("cp a.txt b"), folder, context, "driver", other, "--head app=9.9.9")


@pytest.mark.parametrize("log", UNREACHED)
def test_a_registry_that_is_not_reached_is_no_missing_version(log: str) -> None:
    assert not is_unpublished(log)


def test_a_build_of_another_tool_is_another_one(
    folder: Path, context: DeployContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    required = manifest("cp a.txt b").model_copy(update={"requires": {"tool": "1.0"}})
    places = set()
    for version in ("1.0", "1.1"):
        tool = tmp_path / version / "tool"
        tool.parent.mkdir()
        tool.write_text(f"#!/bin/sh\necho tool {version}\n")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", str(tool.parent), prepend=os.pathsep)
        places.add(built(required, folder, context))
    assert len(places) == 2


def test_a_build_whose_output_is_gone_is_made_again(folder: Path, context: DeployContext) -> None:
    """The output may be a link, as that of a virtual environment is to the Python which made it."""
    (folder.parent / "python").write_text("x")
    required = manifest(f"ln -s {folder.parent / 'python'} b")
    place = built(required, folder, context)
    (folder.parent / "python").unlink()
    with pytest.raises(UserError, match=r"build\.output: the build made no 'b'"):
        built(required, folder, context)
    (folder.parent / "python").write_text("y")
    assert (built(required, folder, context) / "b").read_text() == "y"
    assert place == built(required, folder, context)


def test_sources_that_change_meanwhile_are_not_cached(folder: Path, context: DeployContext) -> None:
    required = manifest(f"sh -c 'cp a.txt b; echo more >> {folder / 'a.txt'}'")
    with pytest.raises(UserError, match="its sources changed while it was built; run it again"):
        built(required, folder, context)
    assert not list((cache_folder() / "subjects").glob("app-*/.built"))


def test_too_many_sources_are_refused(folder: Path, context: DeployContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "SOURCES_MAX", 2)
    for name in "bcd":
        (folder / f"{name}.txt").write_text("x")
    with pytest.raises(UserError, match=r"'\*\.txt' names more than 2 files; name the sources alone"):
        built(manifest("cp a.txt b"), folder, context)


@pytest.mark.parametrize("pattern", ["**x", "."])
def test_what_is_no_pattern_is_one_line(folder: Path, context: DeployContext, pattern: str) -> None:
    with pytest.raises(UserError, match=r"build\.inputs: '.*' (is no pattern|matches no file)"):
        built(manifest("cp a.txt b", inputs=[pattern]), folder, context)


def test_where_nothing_can_be_built_what_helps_is_named(
    folder: Path, context: DeployContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"subject app: it cannot be built .*; set XDG_CACHE_HOME to a folder that you"):
        built(manifest("cp a.txt b"), folder, context)
    cause = {
        OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "cache")): "to another disk",
        PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "cache")): "that you may write to",
        PermissionError(errno.EACCES, "Permission denied", str(folder / "a.txt")): "allow it to be read",
    }
    assert [said in str(build_module._remedy(error, folder)) for error, said in cause.items()] == [True] * 3


def test_a_build_gets_no_secret_that_a_server_was_given(
    folder: Path, context: DeployContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "_VARIABLES", set())
    monkeypatch.setenv("REDIS_PASSWORD", "hunter2hunter2")
    assert resolve("${env:REDIS_PASSWORD}") == "hunter2hunter2"
    text = (built(manifest("sh -c 'env > b'"), folder, context) / "b").read_text()
    assert "REDIS_PASSWORD" not in text


@pytest.mark.fault("a secret of another program in the environment")
def test_a_build_gets_what_clients_of_registries_need_and_what_its_manifest_names(
    folder: Path, context: DeployContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = ("HTTPS_PROXY", "MAVEN_OPTS", "npm_config_registry", "PIP_INDEX_URL", "GOPROXY", "REGISTRY_TOKEN")
    for name in (*needed, "AWS_SECRET_ACCESS_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "SSH_AUTH_SOCK"):
        monkeypatch.setenv(name, "elsewhere")
    text = (built(manifest("sh -c 'env > b'", inherits=["REGISTRY_TOKEN"]), folder, context) / "b").read_text()
    assert {line.partition("=")[0] for line in text.splitlines() if line.endswith("=elsewhere")} == set(needed)


def test_what_is_built_together_is_built_in_the_folder_that_holds_it(folder: Path, context: DeployContext) -> None:
    shared = folder.parent / "shared"
    shared.mkdir()
    (shared / "b.txt").write_text("b")
    required = manifest(
        "sh -c 'cat source/a.txt shared/b.txt > source/c'", root="..", inputs=["*/*.txt"], output="source/c"
    )
    first = built(required, folder, context)
    assert (first / "source/c").read_text() == "ab"
    assert {path.name for path in (first / "source").iterdir()} == {"a.txt", "c"}
    (shared / "b.txt").write_text("other")
    assert (built(required, folder, context) / "source/c").read_text() == "aother"


@pytest.mark.parametrize("root", ["/", "...", "src", "../src", "~"])
def test_it_is_built_in_its_own_folder_or_one_that_holds_it(root: str) -> None:
    with pytest.raises(ValidationError, match="root"):
        manifest("true", root=root)


def test_one_run_builds_and_the_other_waits_for_it(folder: Path, context: DeployContext) -> None:
    required = manifest("cp a.txt b")
    assert required.build is not None
    place = cache_folder() / "subjects" / f"app-{source_hash(required.build, folder)}"
    place.parent.mkdir(parents=True)
    reported: list[str] = []
    waiting = threading.Thread(target=built, args=(required, folder, replace(context, progress=reported.append)))
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting.start()
        wait_until(lambda: reported == ["app: another run builds it"])
        assert not place.exists()
    waiting.join()
    assert (place / "b").read_text() == "a"


def test_a_build_that_takes_too_long_is_ended(folder: Path, context: DeployContext) -> None:
    with pytest.raises(UserError, match=r"build\.timeout_s: not built within 0\.2 s"):
        built(manifest("sleep 600", timeout_s=0.2), folder, context)


PROGRAM = """
import sys
from pathlib import Path
from loadstone.programs.build import built
from loadstone.programs.manifest import read_manifest
from loadstone.servers.server import DeployContext

built(*read_manifest(Path(sys.argv[1])), DeployContext(work_root=Path(sys.argv[2])))
"""


@pytest.mark.fault("loadstone gets SIGKILL, also in a build")
def test_kill_9_of_loadstone_ends_the_build_which_does_not_count_as_built(folder: Path, context: DeployContext) -> None:
    assert context.work_root is not None
    half = folder.parent / "half-done"
    command = f"sh -c 'touch b half; echo $$ > {half}; exec sleep 600'"
    build = {"inputs": ["*.txt"], "output": "b", "commands": [command]}
    (folder / "subject.yaml").write_text(json.dumps({"name": "app", "build": build, "run": {"command": "cat"}}))
    program = subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder), str(context.work_root)])
    wait_until(lambda: half.exists() and half.read_text().endswith("\n"))
    building = int(half.read_text())
    assert not is_gone(building)
    program.kill()
    program.wait()
    wait_until(lambda: is_gone(building))
    wait_until(lambda: list((context.work_root or folder).iterdir()) == [])
    place = next((cache_folder() / "subjects").glob("app-*/half")).parent
    assert not (place / ".built").exists(), "the next run takes it for built"


def test_what_the_documentation_shows_is_right() -> None:
    texts = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "subjects.md").read_text(), re.DOTALL)
    blocks = [YAML(typ="safe").load(text) for text in texts]
    whole = Experiment.with_add_ons().model_validate(next(block for block in blocks if "question" in block))
    assert list(whole.subjects) == ["shop"]
    assert Manifest.model_validate(next(block for block in blocks if "run" in block)).name == "shop"
    parts = [block for block in blocks if not {"question", "run"} & set(block)]
    for name, one in ((name, one) for block in parts for name, one in block.get("subjects", {}).items()):
        assert SubjectSpec.model_validate(one).replicas == 2, name
    (posts,) = [block["data"]["posts"] for block in parts if "data" in block]
    assert [into.server for into in DataSpec.model_validate(posts).into] == ["mariadb", "redis"]
    (stored,) = [block["workload"]["stored"] for block in parts if "stored" in block.get("workload", {})]
    assert all(StoredSpec.model_validate(one) for one in stored)
    servers = {name: one for block in parts for name, one in block.get("servers", {}).items()}
    assert MariaDbSettings.model_validate(servers["mariadb"]).limits.cpu == 1.0
    assert PostgresqlSettings.model_validate(servers["postgresql"]).limits.cpu == 1.0


@pytest.mark.parametrize("path", sorted((ROOT / "subjects").glob("*/subject.yaml")), ids=lambda path: path.parent.name)
def test_our_own_manifests_are_right(path: Path) -> None:
    found, folder = read_manifest(path)
    assert found.name == folder.name
    assert found.build is not None
    assert source_hash(found.build, folder)
    assert all((folder / file).is_file() for file in found.scripts.values())
