"""Which parts of a run are one process under two names, from what its trials say of their starts and addresses."""

from tests.run_folder.synthetic import make_plan, make_trial

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.judge.compare.one_process import with_one_process
from loadstone.run_folder.facts import PartStart, SubjectFacts
from loadstone.run_folder.trial import TrialRecord
from loadstone.servers.addresses import resolved

HTTP = "subject"


def trial(
    name: str, start: str | None = None, *, kind: str = "redis", operation: str = "set", **more: str
) -> TrialRecord:
    """`more`: the address of a user's service."""
    made = make_trial()
    subjects = {name: SubjectFacts(replicas=1, ours=False, addresses=tuple(more.values()))} if kind == HTTP else {}
    update = {
        "kinds": {"generator": "driver", "host": "host", name: kind},
        "starts": {} if start is None else {name: PartStart(before=start)},
        "subjects": subjects,
        "plan": make_plan(operation),
    }
    return made.model_copy(update={"facts": made.facts.model_copy(update=update)})


def found(*trials: TrialRecord) -> list[tuple[str, ...]]:
    return [one.facts.one_process_with for one in with_one_process(trials)]


def test_a_redis_under_two_names_is_one_by_its_run_id() -> None:
    assert found(trial("redis", "8ac4"), trial("against", "8ac4")) == [("against",), ("redis",)]
    assert found(trial("redis", "8ac4"), trial("against", "93fe")) == [(), ()]
    assert found(trial("redis", "8ac4"), trial("redis", "8ac4")) == [(), ()], (
        "a twin, or other conditions of one server"
    )
    assert found(trial("redis"), trial("against")) == [(), ()], "not known"


def test_other_requests_to_one_process_are_compared() -> None:
    assert found(trial("redis", "8ac4"), trial("against", "8ac4", operation="get")) == [(), ()]


def test_a_service_is_one_by_its_process_and_port() -> None:
    def service(name: str, start: str | None, address: str) -> TrialRecord:
        return trial(name, start, kind=HTTP, address=address)

    here, other = "process 7, tick 9", "process 8, tick 9"
    assert found(service("service", here, "127.0.0.1:80"), service("against", here, "10.0.0.1:80"))[0] == ("against",)
    assert found(service("service", here, "127.0.0.1:80"), service("against", here, "127.0.0.1:81"))[0] == ()
    assert found(service("service", here, "127.0.0.1:80"), service("against", other, "127.0.0.2:80"))[0] == ()
    elsewhere = service("service", None, "10.0.0.9:80"), service("against", None, "10.0.0.9:80")
    assert found(*elsewhere) == [("against",), ("service",)]


def test_what_was_found_behind_one_side_alone_makes_no_other_process() -> None:
    plain = trial("service", "process 7, tick 9", kind=HTTP, address="127.0.0.1:80")
    other = trial("against", "process 7, tick 9", kind=HTTP, address="127.0.0.1:80")
    kinds, starts = (
        other.facts.kinds | {"redis": "watched redis"},
        other.facts.starts | {"redis": PartStart(before="5")},
    )
    behind = other.model_copy(update={"facts": other.facts.model_copy(update={"kinds": kinds, "starts": starts})})
    assert found(plain, behind) == [("against",), ("service",)]


def test_names_are_resolved_and_what_cannot_be_is_not_known() -> None:
    assert "127.0.0.1:80" in resolved([Endpoint(host="localhost", port=80)])
    assert resolved([Endpoint(host="127.0.0.1", port=80), Endpoint(host="name.invalid", port=80)]) == ()
    assert resolved([Endpoint(unix_path="/run/a.sock")]) == ("/run/a.sock",)
