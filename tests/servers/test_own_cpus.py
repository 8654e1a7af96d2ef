"""CPUs of a server's own: what is left for the application, and what that means where there are few."""

import pytest

from loadstone.machine.placement import Placement, application_cpus, own_cpus, with_own_cpus


@pytest.mark.parametrize(
    ("servers", "generator", "own", "application"),
    [
        ((0, 1, 2), (3,), (2,), (0, 1)),
        ((0, 1), (2,), (1,), (0,)),
        ((0,), (1,), (1,), (0,)),  # it shares the generator's
        ((0,), (0,), (0,), (0,)),  # one CPU for all
        ((), (), (), ()),  # nothing is pinned
    ],
)
def test_the_application_leaves_them_to_the_server(
    servers: tuple[int, ...], generator: tuple[int, ...], own: tuple[int, ...], application: tuple[int, ...]
) -> None:
    assert own_cpus(servers, generator) == own
    assert application_cpus(servers, generator) == application


def test_the_note_tells_where_they_are_the_generators() -> None:
    two = with_own_cpus(Placement((0,), (1,), shared=False, note="servers on CPU 0"), ["redis"])
    assert str(two.note).endswith("redis on the generator's CPU 1; there is no other, so the two share it")
    four = with_own_cpus(Placement((0, 1, 2), (3,), shared=False, note="servers on CPU 0, 1, 2"), ["redis"])
    assert str(four.note).endswith("redis on CPU 2")
    assert with_own_cpus(two, []) is two
