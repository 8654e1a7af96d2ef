"""What each agent is given of a plan."""

from typing import Any

import pytest

from loadstone.addons.fleet.driver import require_shareable, shares_of
from loadstone.experiment.plan.drive_plan import Closed, Open, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint, even_slots
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.safety.errors import UserError


def alone(plan: Plan, agents: int, *, one_machine: bool) -> list[Plan]:
    return [share for (share,) in shares_of([plan], agents, one_machine=one_machine)]


NODES = tuple(Endpoint(slots=slots) for slots in even_slots(3))


def plan(**changed: Any) -> Plan:
    fields: dict[str, Any] = {
        "endpoints": (Endpoint(),),
        "model": Closed(users=64),
        "pool": Pool(connections=64),
        "threads": 2,
        "cpus": (2, 3),
        "operations": (Operation(name="ping", commands=(ServerCommand(args=("PING",)),)),),
        **changed,
    }
    return Plan(**fields)


def test_each_agent_has_the_whole_plan_and_its_number() -> None:
    shares = alone(plan(), 4, one_machine=False)
    assert [(one.share.number, one.share.of, one.threads) for one in shares if one.share] == [
        (number, 4, 2) for number in range(4)
    ]
    assert {one.cpus for one in shares} == {()}, "CPUs are this machine's"
    assert all(one.model == plan().model and one.pool == plan().pool for one in shares)


def test_agents_beside_each_other_take_turns_over_the_cpus() -> None:
    shares = alone(plan(threads=1, cpus=(1, 2, 3)), 4, one_machine=True)
    assert [one.cpus[0] for one in shares] == [1, 2, 3, 1]


def test_threads_that_share_a_cpu_do_not_stay_awake() -> None:
    for model in (Open(rate_per_s=100.0, spin_us=50.0), Closed(users=6, spin_us=50.0)):
        planned = plan(model=model, threads=1)
        spins = [[one.model.spin_us for one in alone(planned, agents, one_machine=True)] for agents in (2, 3)]
        assert spins == [[50.0, 50.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("changed", "agents", "expected"),
    [
        ({"model": Closed(users=3)}, 8, (3, 1)),
        ({"pool": Pool(connections=5)}, 2, (2, 2)),
        ({"pool": Pool(connections=3)}, 2, (2, 1)),
        ({"model": Closed(users=1), "pool": Pool(connections=1)}, 4, (1, 1)),
        (
            {"endpoints": tuple(Endpoint(slots=slots) for slots in even_slots(3)), "pool": Pool(connections=6)},
            4,
            (2, 1),
        ),
    ],
)
def test_every_thread_has_something_to_do(changed: dict[str, Any], agents: int, expected: tuple[int, int]) -> None:
    shares = alone(plan(**changed), agents, one_machine=False)
    assert (len(shares), shares[0].threads) == expected


def test_plans_that_take_turns_are_divided_among_the_same_agents() -> None:
    shares = shares_of([plan(), plan(model=Closed(users=2))], 4, one_machine=False)
    assert [[(one.share.of, one.threads) for one in plans if one.share] for plans in shares] == [[(2, 2), (2, 1)]] * 2


def test_what_cannot_be_shared_is_refused_in_one_line() -> None:
    written = Operation(name="set", writes="document", commands=(ServerCommand(args=("SET", "{key}", "{document}")),))
    with pytest.raises(UserError) as refused:
        require_shareable([plan(), plan(operations=(written,), acknowledged=True)], 2, "--fleet local:2")
    assert str(refused.value).startswith("--fleet local:2: acknowledged")
    assert "\n" not in str(refused.value)
