"""Which process serves an address: on real sockets, of this network and of one of its own."""

import sys

import pytest
from tests.namespaces import ADDRESS, OTHER, PORT, listener
from tests.real_servers import wait_until

from loadstone.machine import listening_process as module
from loadstone.machine.listening_process import serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own files are read")


@pytest.mark.parametrize("address", [ADDRESS, "0.0.0.0", "::"])
def test_the_process_behind_an_address_is_found_in_its_network(namespace: str, address: str) -> None:
    with listener(namespace, address) as pid:
        assert serving(ADDRESS, PORT) == pid
        assert serving(ADDRESS, PORT + 1) is None
        assert serving(OTHER, PORT) is None


def test_of_workers_that_share_a_socket_it_is_the_parent(namespace: str) -> None:
    with listener(namespace, ADDRESS, workers=3) as pid:
        assert serving(ADDRESS, PORT) == pid


def test_the_loopback_is_no_address_of_a_machine(namespace: str) -> None:
    with listener(namespace, "127.0.0.1"):
        assert serving("127.0.0.1", PORT) is None
        assert serving("localhost", PORT) is None
        assert serving(ADDRESS, PORT) is None


def test_a_name_that_leads_nowhere_is_nobodys() -> None:
    assert serving("no-such-host.invalid", PORT) is None


def test_a_process_that_ended_serves_nothing(namespace: str) -> None:
    with listener(namespace, ADDRESS):
        assert serving(ADDRESS, PORT) is not None
    wait_until(lambda: serving(ADDRESS, PORT) is None)


def test_addresses_are_read_as_the_kernel_writes_them() -> None:
    assert str(module._read_address("0207E70A")) == ADDRESS
    assert str(module._read_address("0000000000000000FFFF00000207E70A")) == ADDRESS
    assert str(module._read_address("00000000000000000000000001000000")) == "::1"
