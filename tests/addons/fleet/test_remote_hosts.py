"""Parts on machines of a fleet that cannot be there are refused before anything starts."""

from pathlib import Path

import pytest

from loadstone.addons.fleet.open import NamedFleet
from loadstone.addons.fleet.remote_hosts import require_hosts_can
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.programs.clients.chosen import chosen_drivers
from loadstone.run.load_source import require_no_hosts
from loadstone.run.prepare import requested_experiment, requested_plan
from loadstone.run.request import RunRequest
from loadstone.safety.errors import UserError

FLEET = NamedFleet("tls://127.0.0.1:8786")


def planned(*hosts: str, experiment: str = "aof-modes", sets: tuple[str, ...] = ()) -> RunPlan:
    options = RunRequest(experiment=experiment, hosts=hosts, set=sets, quick=True, seed=1, out=Path())
    return requested_plan(requested_experiment(options), options)


def test_parts_of_both_kinds_get_their_hosts() -> None:
    run_plan = planned("mariadb=db-2", "spring=app-1")
    require_hosts_can(run_plan)
    hosts = {trial.servers["mariadb"]["host"] for trial in run_plan.every_trial if "mariadb" in trial.servers}
    assert hosts == {"db-2"}
    assert {one.host for trial in run_plan.every_trial for one in trial.subjects.values()} == {"app-1"}


@pytest.mark.parametrize(
    ("hosts", "sets", "said"),
    [
        (("redis=db-1",), ("servers.redis.link=1 ms",), r"servers.redis.link: the way there is a real network"),
        (("redis=db-1",), ("servers.redis.cpus=own",), r"servers.redis.cpus: CPUs are chosen on this machine alone"),
        (("redis-crash=db-1",), (), r"crashes.durability: a server on db-1 is not killed from here"),
    ],
)
def test_what_a_host_cannot_do_is_refused(hosts: tuple[str, ...], sets: tuple[str, ...], said: str) -> None:
    with pytest.raises(UserError, match=said):
        require_hosts_can(planned(*hosts, sets=sets))


def test_without_a_fleet_there_are_no_hosts() -> None:
    with pytest.raises(UserError, match=r"subjects.spring.host: app-1 is a machine of a fleet; add --fleet"):
        require_no_hosts(planned("spring=app-1"))


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("none=db-1", r"--host none=db-1: write NAME=HOST; parts of aof-modes are: .*redis.*spring"),
        ("redis", r"--host redis: write NAME=HOST"),
        ("spring=app 1", r"host: .app 1. is not the name of a host"),
    ],
)
def test_a_host_that_is_none_is_refused(host: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        planned(host)


def test_clients_of_libraries_are_left_out_by_a_factor() -> None:
    run_plan = planned("redis=db-1", experiment="jedis-vs-lettuce")
    with pytest.raises(UserError, match=r"native engine alone; or measure the others: --only library=none$"):
        FLEET.check(run_plan, chosen_drivers(run_plan))


def test_crashes_are_driven_from_here_and_need_no_shares() -> None:
    run_plan = planned("redis=db-1")
    assert any(crash.trial.plan.acknowledged for crash in run_plan.crashes)
    FLEET.check(run_plan, {})
