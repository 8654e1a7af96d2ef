"""A disk that hangs, as one of the network does: what is written waits, and what is measured does not."""

import contextlib
import os
import re
import socket
import threading
from collections.abc import Iterator

import pytest

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.drive_plan import Closed, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand

PATIENCE_S = 100.0
COMMAND = re.compile(rb"\*3\r\n")


class Disk:
    """A pipe that is full and that no one reads: a write into it waits until `comes_back`."""

    def __init__(self) -> None:
        self._reads, self._writes = os.pipe()
        os.set_blocking(self._writes, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(self._writes, b"x" * 65536)
        os.set_blocking(self._writes, True)
        self.hangs = threading.Event()

    def write(self) -> None:
        self.hangs.set()
        os.write(self._writes, b"x")

    def comes_back(self) -> None:
        os.read(self._reads, 1 << 20)

    def close(self) -> None:
        os.close(self._reads)
        os.close(self._writes)


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.close()


class Server:
    """Says OK to every command of one connection; `left` once the driver has closed it, which it does at the end."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.left = threading.Event()
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        connection, _ = self.listener.accept()
        with connection:
            while received := connection.recv(65536):
                connection.sendall(b"+OK\r\n" * len(COMMAND.findall(received)))
        self.left.set()

    def close(self) -> None:
        self.listener.close()
        self.thread.join()


@pytest.mark.fault("the disk hangs", "the load ends in time and loses no figure", area="disk")
def test_the_load_goes_on_and_ends_while_a_write_hangs_and_no_figure_is_lost(disk: Disk) -> None:
    server = Server()
    plan = Plan(
        endpoints=(Endpoint(port=server.listener.getsockname()[1]),),
        model=Closed(users=1),
        pool=Pool(connections=1),
        phases=Phases(warm_up_s=0.1, measure_s=1.5, drain_s=1.0),
        operations=(Operation(name="set", commands=(ServerCommand(args=("SET", "{key}", "x"), expect="ok"),)),),
        interval_s=0.05,
    )
    taken: list[Interval] = []
    ended_while_it_hung = threading.Event()

    def write(interval: Interval) -> None:
        taken.append(interval)
        if len(taken) == 1:
            disk.write()

    def repair() -> None:
        if disk.hangs.wait(PATIENCE_S) and server.left.wait(PATIENCE_S) and len(taken) == 1:
            ended_while_it_hung.set()
        disk.comes_back()

    repairing = threading.Thread(target=repair)
    repairing.start()
    record = drive_alone(NativeDriver(), plan, write)
    repairing.join()
    server.close()
    assert ended_while_it_hung.is_set(), "the load waits for the disk"
    assert record.stopped is None
    assert len(taken) > 10
    assert sum(one.operations["set"].ok for one in taken if "set" in one.operations) == record.total.ok > 0
