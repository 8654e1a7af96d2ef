"""What the manifests for Kubernetes write behind `--listen`, as the command reads it."""

import pytest
from tests.deployments.manifests import pods

from loadstone.addons.fleet.command import _listen as listen_address


@pytest.mark.parametrize("address", ["10.0.0.1", "fd00::7"])
def test_pods_listen_at_addresses_of_either_version(address: str) -> None:
    words = [word for pod in pods() for container in pod.containers for word in container["args"]]
    listening = [word.removeprefix("--listen=") for word in words if "$(POD_IP)" in word]
    assert [listen_address(word.replace("$(POD_IP)", address)) for word in listening] == [(address, 8787)] * 2
