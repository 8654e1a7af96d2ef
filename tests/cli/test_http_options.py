"""`loadstone http`: what each option makes of the plan, by the meaning that it has with wrk, hey and k6."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.said import Said

from loadstone.experiment.plan.drive_plan import Closed, Open
from loadstone.experiment.plan.operations import HttpRequest
from loadstone.experiment.plan.workload_from_text import literal_braces
from loadstone.safety.errors import UserError

URL = "http://127.0.0.1:8080/a?b=c"
Http = Callable[..., Said]


@pytest.fixture
def http(said: Callable[..., Said]) -> Http:
    return lambda *arguments: said("http", *arguments)


def request(found: Said) -> HttpRequest:
    return found.plan().operations[0].requests[0]


def test_without_options_it_is_get_of_the_url(http: Http) -> None:
    found = http(URL)
    assert (request(found).method, request(found).path) == ("GET", "/a?b=c")
    assert found.plan().model == Closed(users=50)
    assert found.experiment.subjects["service"].url == "http://127.0.0.1:8080"
    assert "b=c" not in found.experiment.question, "a query may hold a secret"


@pytest.mark.parametrize("names", [("-c", "-d"), ("--vus", "--duration"), ("-u", "-z"), ("--connections", "-d")])
def test_users_and_time_have_the_peers_names(http: Http, names: tuple[str, str]) -> None:
    connections, duration = names
    plan = http(URL, connections, "12", duration, "30s").plan()
    assert (plan.model, plan.pool.connections, plan.phases.measure_s) == (Closed(users=12), 12, 5)


def test_wrks_options(http: Http) -> None:
    plan = http(URL, "-t", "2", "-c", "4", "-d", "1m", "--latency", "--timeout", "2s", "-H", "A: b").plan()
    assert (plan.threads, plan.phases.measure_s, plan.timeouts.request_ms) == (2, 10, 2000)
    assert plan.operations[0].requests[0].headers == {"A": "b"}
    assert http(URL, "-R", "2000").plan().model == Open(rate_per_s=2000)


def test_heys_options(http: Http, tmp_path: Path) -> None:
    file = tmp_path / "body.json"
    file.write_text('{"a": {"b": 1}, "n": {number}}')
    found = http(URL, "-n", "200", "-c", "10", "-q", "5", "-m", "POST", "-D", str(file))
    assert found.plan().model == Open(rate_per_s=50)
    assert (found.plan().phases.measure_s, found.plan().phases.warm_up_s) == (4, 0)
    assert request(found).method == "POST"
    assert request(found).body == '{{"a": {{"b": 1}}, "n": {number}}}'
    assert request(http(URL, "-m", "put", "--body", "x")).body == "x"


def test_k6s_options(http: Http) -> None:
    found = http(URL, "-i", "500", "--vus", "3")
    shared = Closed(users=3, operations_per_user=166, operations_more=2)
    assert (found.plan().model, found.plan().phases.measure_operations) == (shared, None)
    assert http(URL, "--rps", "70").plan().model == Open(rate_per_s=70)


def test_several_paths_are_a_mix(http: Http) -> None:
    plan = http("http://127.0.0.1:1/api", "--path", "/x", "--path", "/y/{number}", "--keys", "9").plan()
    assert [one.requests[0].path for one in plan.operations] == ["/x", "/y/{number}"]
    assert plan.keys.count == 9


def test_two_services_take_turns_each_by_its_own_path(http: Http) -> None:
    found = http(URL, "--against", "http://127.0.0.1:9090/other", "--expect", "200")
    paths = {name: plan.operations[0].requests[0].path for name, plan in found.plans.items()}
    assert set(paths.values()) == {"/a?b=c", "/other"}
    (group,) = found.run_plan.groups
    assert group.sequential
    assert group.rounds is not None
    assert group.rounds.slice_s == 0.4
    with_rates = http(URL, "--rates", "10%,50%")
    assert sorted(plan.model.rate_per_s for plan in with_rates.plans.values() if isinstance(plan.model, Open)) == [
        1000,
        5000,
    ]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", "plain"),
        ('{"a":1}', '{{"a":1}}'),
        ('{"a":{"b":{number}}}', '{{"a":{{"b":{number}}}}}'),
        ('{{"a":{number}}}', '{{"a":{number}}}'),
        ("{seq}{uniform 1..9}{unknown}", "{seq}{uniform 1..9}{{unknown}}"),
    ],
)
def test_braces_of_json_are_no_placeholders(text: str, written: str) -> None:
    assert literal_braces(text) == written


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["127.0.0.1:80"], "URL '127.0.0.1:80': it begins with no scheme; write http://127.0.0.1:80"),
        ([URL, "-d", '{"a":1}'], "-d '{\"a\":1}': no time; -d is how long it is measured, as with wrk and k6; write"),
        ([URL, "-R", "5", "--rate", "6"], "--rate, -R: write one of them"),
        ([URL, "--body", "x", "-D", "y"], "--body, -D: leave one of them out"),
        ([URL, "-D", "nothing"], "@nothing: cannot be read (No such file or directory)"),
        ([URL, "-H", "x"], "-H x: write 'NAME: VALUE'; secrets as ${env:NAME}"),
        ([URL, "--expect", "fine"], "--expect fine: no status of HTTP; write for example 200"),
        ([URL, "--against", "ftp://h"], "--against: 'ftp://' is not HTTP; write http://HOST:PORT or https://HOST:PORT"),
    ],
)
def test_a_slip_names_the_option_and_what_to_write(http: Http, arguments: list[str], error: str) -> None:
    with pytest.raises(UserError) as raised:
        http(*arguments)
    assert error in str(raised.value)


@pytest.mark.parametrize("value", ["b\rC: d", "b\nC: d", "\x00", "\x1b[2J"])
def test_a_header_of_several_lines_is_refused_before_anything_is_sent(http: Http, value: str) -> None:
    with pytest.raises(
        UserError, match=r"the value of 'A' holds a line end or a control character; remove it"
    ) as error:
        http(URL, "-H", f"A: x{value}x").plan()
    assert "\r" not in str(error.value)
    assert request(http(URL, "-H", "A: b\tc \u00fc")).headers == {"A": "b\tc \u00fc"}


def test_what_is_compared_is_called_by_what_both_are_asked_for(http: Http) -> None:
    found = http("http://127.0.0.1:1/a", "--against", "http://127.0.0.1:1/b")
    assert [row.name for row in found.ad_hoc.rows] == ["GET /a, /b"]
