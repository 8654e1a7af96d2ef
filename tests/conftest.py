"""What the tests of several folders share: modules that stand beside them, and a small experiment."""

import copy
import gc
import importlib.util
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from loadstone.experiment.spec import loading, yaml_text
from loadstone.safety.secrets import known, references

from .analysed_studies import studies  # noqa: F401 (a fixture)
from .loaded import SELDOM
from .namespaces import namespace  # noqa: F401 (a fixture)
from .podman import hostile_image, image_elsewhere, mariadb_image, podman, podman_found, relatives  # noqa: F401 (fixtures)
from .real_servers import (  # noqa: F401 (fixtures)
    QUICK_JVM,
    certificates,
    context,
    debian_redis,
    odd_certificates,
    scripted,
    tls_redis,
    user_redis,
)
from .said import said  # noqa: F401 (a fixture)
from .users_cluster import their_cluster  # noqa: F401 (a fixture)

SMALL = Path(__file__).parent / "examples" / "experiment" / "small.yaml"
COMPARISONS = """\
comparisons:
  - name: users
    question: Do more users get more done?
    between: workers
    levels: [1, 8]
    at:
      operation: [set, get]
      payload: [100 B]
  - name: kinds
    question: Does the kind matter?
    between: operation
    levels: [get, set]
    baseline: set
    at: {idle: [few]}
    quick_at: {idle: [many]}
    metric: response_ns.p99
    margin: 20 %
design:
  budget: 20m
  table_blocks: 3
  trial: 4 s
  rounds: never
"""


LONG_FIRST = (
    "tests/subjects/",
    "tests/programs/",
    "tests/addons/driver_contract/",
    "tests/end_to_end/",
    "tests/addons/",
    "tests/contract/",
    "tests/servers/",
    "tests/machine/processes/",
    "tests/monitors/",
)
"""Where tests take long, the longest first: begun in this order, so that no process is left with one at the end."""


@lru_cache(maxsize=64)
def _parsed(text: str) -> tuple[Any, Mapping[yaml_text.Path, int]]:
    return yaml_text.read_yaml(text)


def _read_yaml(text: str) -> tuple[Any, Mapping[yaml_text.Path, int]]:
    """Parse each experiment once for all tests, which takes longer than all that is done with it."""
    data, lines = _parsed(text)
    return copy.deepcopy(data), lines


pytest.MonkeyPatch().setattr(loading, "read_yaml", _read_yaml)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: no collection of garbage looks through it, and those of tests come seldom."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(*SELDOM)
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Shares the tests out where there is more than one process."""
    from tests.spread import ByFile  # only there: not everybody has pytest-xdist

    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_turn)
    for item in items:
        for mark, script in (("alone", "test"), ("prove", "prove")):
            if item.get_closest_marker(mark) and f"mark.{mark}" not in item.path.read_text():
                raise pytest.UsageError(
                    f"{item.nodeid}: its file must hold `mark.{mark}`, by which scripts/{script} finds it"
                )


def _turn(item: pytest.Item) -> int:
    """Where the test's folder stands among those that are begun first."""
    return next((turn for turn, folder in enumerate(LONG_FIRST) if item.nodeid.startswith(folder)), len(LONG_FIRST))


@pytest.fixture(scope="session", autouse=True)
def _lock_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The tests measure nothing: they run beside others on the same machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOADSTONE_LOCK_FOLDER", str(tmp_path_factory.mktemp("lock")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _quick_maven() -> Iterator[None]:
    """Builds and tests of the JVM's programs take half the CPU: Maven lives for seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAVEN_OPTS", QUICK_JVM)
        yield


@pytest.fixture(autouse=True)
def _no_secret_of_another_test() -> Iterator[None]:
    """What one test learned to be a secret is a word like any other in the next."""
    known.forget()
    references.forget()
    yield
    known.forget()
    references.forget()


@pytest.fixture(scope="session")
def load_module() -> Callable[[Path], ModuleType]:
    """Loads a module by its file, as `loadstone_<name>`."""

    def load(path: Path) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"loadstone_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def synthetic(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    """The module `tests/run_folder/synthetic.py`: synthetic trials."""
    return load_module(Path(__file__).parent / "run_folder" / "synthetic.py")


@pytest.fixture
def small() -> str:
    """The text of a small experiment without a mistake, which compares nothing."""
    return SMALL.read_text()


@pytest.fixture
def app() -> str:
    """The text of an experiment with an application on MariaDB and Redis, without a mistake."""
    return SMALL.with_name("app.yaml").read_text()


@pytest.fixture
def compared(small: str) -> str:
    """The same with two comparisons, from line 78 on."""
    return small + COMPARISONS
