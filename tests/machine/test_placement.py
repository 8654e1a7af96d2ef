import os

import pytest

from loadstone.machine import placement
from loadstone.machine.placement import application_cpus, own_cpus, place, split


def test_two_cpus_are_one_for_each() -> None:
    found = split([(0,), (1,)])
    assert (found.server_cpus, found.generator_cpus, found.shared) == ((0,), (1,), False)


def test_one_cpu_is_shared() -> None:
    found = split([(3,)])
    assert (found.server_cpus, found.generator_cpus, found.shared) == ((3,), (3,), True)
    assert "one CPU" in str(found.note)


def test_a_core_of_two_threads_is_not_shared_where_there_are_others() -> None:
    found = split([(0, 4), (1, 5), (2, 6), (3, 7)])
    assert found.generator_cpus == (7,)
    assert found.server_cpus == (0, 4, 1, 5, 2, 6)


def test_an_application_of_several_processes_has_more_than_one_of_four_cpus() -> None:
    """Its processes may all run on each of them; none is held on one CPU that the others use, too."""
    found = split([(0,), (1,), (2,), (3,)])
    assert (found.server_cpus, found.generator_cpus) == ((0, 1), (3,))
    found = split([(0,), (1,), (2,), (3,), (4,)])
    assert application_cpus(found.server_cpus, found.generator_cpus) == (0, 1), "beside a server with a CPU of its own"
    assert own_cpus(found.server_cpus, found.generator_cpus) == (2,)


@pytest.mark.parametrize(
    ("cores", "threads", "lab"),
    [
        ([(0,), (1,)], 1, (1,)),
        ([(0,), (1,), (2,)], 1, (2,)),
        ([(0,), (1,), (2,), (3,)], 1, (2,)),
        ([(0,), (1,), (2,), (3,)], 2, (2, 3)),
        ([(0, 2), (1, 3)], 1, (1,)),
        ([(0,)], 1, (0,)),
    ],
)
def test_threads_that_make_no_load_have_no_cpu_of_a_server(
    cores: list[tuple[int, ...]], threads: int, lab: tuple[int, ...]
) -> None:
    found = split(cores, threads)
    assert found.lab_cpus == lab
    assert found.shared or not set(found.lab_cpus) & set(found.server_cpus)


def test_one_core_of_two_threads_is_named() -> None:
    found = split([(0, 1)])
    assert (found.server_cpus, found.generator_cpus) == ((0,), (1,))
    assert "share a core" in str(found.note)


@pytest.mark.parametrize(("cpus", "threads", "generator"), [(4, 2, 2), (4, 3, 3), (4, 9, 3), (2, 4, 1)])
def test_servers_keep_one_cpu_at_least(cpus: int, threads: int, generator: int) -> None:
    found = split([(cpu,) for cpu in range(cpus)], threads)
    assert len(found.generator_cpus) == generator
    assert len(found.server_cpus) == cpus - generator - (found.lab_cpus != found.generator_cpus)
    assert not set(found.server_cpus) & set(found.generator_cpus)
    assert (f"{threads} threads of the generator share" in str(found.note)) == (threads > generator)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system pins nothing")
def test_only_cpus_that_we_may_use_are_given() -> None:
    found = place()
    assert {*found.server_cpus, *found.generator_cpus} <= os.sched_getaffinity(0)


def test_a_system_without_pinning_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    found = placement.place()
    assert (found.server_cpus, found.generator_cpus, found.shared) == ((), (), True)
    assert "nothing is pinned" in str(found.note)
