"""How the tests are shared out among processes (`pytest -n 3`)."""

import pytest
from xdist.scheduler import LoadScopeScheduling

CONTAINERS, PROVIDERS = "tests/servers/containers/test_container.py", "tests/contract/test_server_providers.py"
"""Where tests start containers; of the second file those whose kind is `container`."""
NETWORKS = {"tests/machine/processes/test_network_namespace.py", "tests/addons/fleet/test_ssh.py"}
"""Where tests make networks, whose cards they count."""


class ByFile(LoadScopeScheduling):
    """The tests of a file run in one process, one after the other: they share what takes long to start.

    So do all tests that start containers: there is one Podman at a time, which changes the networks of the machine; and
    all tests that make such networks themselves.
    The files keep the order of `tests/conftest.py`: by itself pytest-xdist begins with the file of the most tests, and
    those that take long are few.
    """

    def __init__(self, config: pytest.Config, log: object) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        file, _, rest = nodeid.partition("::")
        is_container = file == CONTAINERS or (file == PROVIDERS and "[container" in rest)
        return "podman" if is_container else "networks" if file in NETWORKS else file
