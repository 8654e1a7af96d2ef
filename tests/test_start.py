"""What a command loads before it does anything: no library that it does not need."""

import json
import subprocess
import sys

import pytest

LATER = {"altair", "docker", "hdrh", "jinja2", "numpy", "prometheus_client", "psutil", "pydantic", "pymysql", "redis"}
LATER |= {"rich", "ruamel", "scipy", "vl_convert"}
"""What is loaded by the commands that need it."""
REPORTED = "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"


def loaded(program: str) -> set[str]:
    """The top packages and modules of a process of its own that ran `program`."""
    return {name.partition(".")[0] for name in modules(program)}


def modules(program: str) -> set[str]:
    """All modules of a process of its own that ran `program`."""
    text = f"import atexit, json, sys\natexit.register(lambda: {REPORTED})\n{program}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def command(*arguments: str) -> str:
    return f"sys.argv = {['loadstone', *arguments]}\nfrom loadstone.cli.main import main\nmain()"


def test_the_package_loads_nothing() -> None:
    assert loaded("import loadstone") & (LATER | {"typer"}) == set()


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]], ids=" ".join)
def test_what_says_something_of_loadstone_itself_loads_little(arguments: list[str]) -> None:
    assert loaded(command(*arguments)) & LATER == set()


def test_packages_are_not_listed_where_none_brings_an_add_on() -> None:
    assert not any("importlib.metadata" in name for name in modules(command("--help")))


def test_no_add_on_is_looked_for_to_say_a_version() -> None:
    assert not {name for name in modules(command("--version")) if name.startswith("loadstone.addon")}


def test_an_option_is_checked_by_pydantic_alone() -> None:
    """As typer does it, whatever the option."""
    assert loaded(command("run", "--help")) & LATER <= {"pydantic"}


def test_the_list_of_experiments_needs_a_reader_of_yaml_beside() -> None:
    assert loaded(command("list")) & LATER == {"pydantic", "ruamel"}
