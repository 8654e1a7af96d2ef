"""`loadstone redis`: what each option makes of the plan, by the meaning that it has with the peers."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.parser import parser
from tests.said import Said

from loadstone.cli.ad_hoc_experiment import SPIN_US
from loadstone.cli.http_command import HTTP_PEERS
from loadstone.cli.load import REPEATS
from loadstone.cli.redis_command import REDIS_PEERS
from loadstone.cli.redis_rows import TESTS
from loadstone.experiment.plan.drive_plan import Closed, Open
from loadstone.run.command_line import SWITCHES, without_password
from loadstone.safety.errors import UserError

Redis = Callable[..., Said]


@pytest.fixture
def redis(said: Callable[..., Said]) -> Redis:
    return lambda *arguments: said("redis", *arguments)


def test_without_options_it_is_get_and_set_of_an_embedded_redis(redis: Redis) -> None:
    found = redis()
    assert set(found.plans) == {"get", "set"}
    assert found.sent() == {"get": (1, "GET {key}"), "set": (1, "SET {key} {value}")}
    assert found.experiment.servers == {"redis": {"kind": "embedded"}}
    for plan in found.plans.values():
        assert (plan.model, plan.pool.connections) == (Closed(users=50), 50)
        assert (plan.documents.payload_bytes, plan.keys.count, plan.pipeline_depth) == (3, 1000, 1)
    (group,) = found.run_plan.groups
    assert group.rounds is not None
    assert group.looks == (6,), "the fewest repeats that have an interval"


def test_redis_benchmarks_options_have_their_meaning(redis: Redis) -> None:
    found = redis("-c", "20", "-n", "5000", "-P", "16", "-d", "100", "-r", "70", "-t", "set", "--threads", "2", "-q")
    plan = found.plan()
    assert (plan.model, plan.pool.connections, plan.pipeline_depth) == (
        Closed(users=20, operations_per_user=250),
        20,
        16,
    )
    assert (plan.documents.payload_bytes, plan.keys.count, plan.threads) == (100, 70, 2)
    assert (plan.phases.measure_operations, plan.phases.warm_up_s) == (None, 0)
    assert redis("-n", "20", "-t", "get").plan().model == Closed(users=20, operations_per_user=1)
    odd = redis("-n", "1003", "-t", "get").plan()
    shared = Closed(users=50, operations_per_user=20, operations_more=3)
    assert (odd.model, odd.phases.measure_operations, odd.phases.warm_up_s) == (shared, None, 0)
    assert len(found.run_plan.trials) == 1
    assert found.output.quiet
    assert redis("--csv").output.csv
    assert redis("--cluster").experiment.servers == {"redis": {"kind": "cluster"}}
    theirs = redis("redis://h:1?db=0", "--cluster", "-t", "get", "-a", "x").experiment
    assert theirs.servers == {"redis": {"kind": "url", "url": "redis://:x@h:1?db=0&cluster=yes"}}
    assert theirs.question == "How fast is the Redis Cluster at h:1 under get?"
    two = redis("redis://h:1", "--cluster", "--against", "redis://h:2", "-t", "get").experiment.servers
    assert [one["url"] for one in two.values()] == ["redis://h:1?cluster=yes", "redis://h:2?cluster=yes"]
    assert redis("-3", "-t", "get").plan().protocol == "resp3"
    assert redis("-n", "100", "--repeat", "7", "-t", "get").run_plan.groups[0].looks == (7,)


@pytest.mark.parametrize("name", TESTS)
def test_every_test_can_be_planned(redis: Redis, name: str) -> None:
    assert redis("-t", name).plan().operations


def test_lrange_is_all_of_its_lengths(redis: Redis) -> None:
    found = redis("-t", "lrange")
    assert [row.name for row in found.ad_hoc.rows] == ["lrange_100", "lrange_300", "lrange_500", "lrange_600"]
    stored = {str(trial.condition["operation"]): trial.load for trial in found.run_plan.trials}["lrange_300"]
    assert stored is not None
    assert len(stored.operations[0].commands[0].args) == 2 + 300


def test_memtiers_options_have_their_meaning(redis: Redis) -> None:
    found = redis("--ratio", "1:10", "--key-pattern", "G:G", "--key-stddev", "50", "--key-maximum", "200")
    assert found.sent() == {"set": (1, "SET {key} {value}"), "get": (10, "GET {key}")}
    keys = found.plan().keys
    assert (keys.count, keys.distribution, keys.gaussian_sd) == (200, "gaussian", 0.25)
    assert redis("--test-time", "12", "-t", "get").plan().phases.measure_s == pytest.approx(2, rel=0.05), (
        "and what slices settle in"
    )
    rate = redis("--rate-limiting", "100", "-c", "8", "-t", "get").plan().model
    assert rate == Open(rate_per_s=800)
    output = redis("--json-out-file", "x.json", "--hdr-file-prefix", "x").output
    assert (output.json_file, output.hdr_prefix) == (Path("x.json"), "x")
    assert redis("--ratio", "1:0").sent() == {"set": (1, "SET {key} {value}")}


@pytest.mark.parametrize(
    ("letters", "distribution"), [("R:R", "uniform"), ("S:S", "sequential"), ("P:P", "sequential"), ("Z:Z", "zipf")]
)
def test_a_key_pattern_is_a_distribution(redis: Redis, letters: str, distribution: str) -> None:
    assert redis("--key-pattern", letters, "-t", "get").plan().keys.distribution == distribution


def test_values_have_the_sizes_of_a_range_or_a_list(redis: Redis) -> None:
    listed = redis("-t", "set", "--data-size-list", "32:80,1024:20").sent()
    assert listed == {
        "set-32": (0.8, "SET {key} {random 32 lowercase}"),
        "set-1024": (0.2, "SET {key} {random 1024 lowercase}"),
    }
    between = redis("-t", "set", "--data-size-range", "10-100").sent()
    assert len(between) == 16
    assert {"set-10", "set-100"} <= set(between)
    mixed = redis("--ratio", "1:3", "--data-size-range", "10-11").sent()
    assert mixed["get"] == (3, "GET {key}")
    assert mixed["set-10"][0] == 0.5


def test_commands_of_the_peers_are_read(redis: Redis) -> None:
    found = redis(
        "--command", "SETEX __key__ 10 __data__", "--command", "GET key:__rand_int__",
        "--command", "SADD {key} __rand_int__", "--command-ratio", "1", "--command-ratio", "8", "--command-ratio", "1",
    )  # fmt: skip
    assert found.sent() == {
        "setex": (1, "SETEX {key} 10 {value}"),
        "get": (8, "GET {key}"),
        "sadd": (1, "SADD {key} {uniform 0..999}"),
    }
    assert redis("--command", "lpush").sent() == {"lpush": (1, "LPUSH {key} {value}")}


def test_a_file_of_commands_is_a_mix(redis: Redis, tmp_path: Path) -> None:
    file = tmp_path / "mix.txt"
    file.write_text("# what they do\n9 GET {key}\n\nGET {key}\nSET {key} {value}\n")
    assert redis("--commands", str(file)).sent() == {
        "get-1": (9, "GET {key}"),
        "get-2": (1, "GET {key}"),
        "set": (1, "SET {key} {value}"),
    }


def test_what_is_verified_names_its_key(redis: Redis) -> None:
    found = redis("--verify", "--ratio", "1:1", "-d", "200")
    assert found.sent()["set"] == (1, "SET {key} {document}")
    plan = found.plan()
    assert plan.documents.payload_bytes == 200 - 122
    assert [one.commands[0].expect for one in plan.operations] == ["ok", "document"]
    assert plan.operations[0].read_back is not None


def test_nothing_is_stored_before_where_that_is_said(redis: Redis) -> None:
    assert redis("-t", "get", "--no-load").run_plan.trials[0].load is None
    loaded = redis("--command", "HGETALL {key}", "--load", "HSET {key} a {value}").run_plan.trials[0].load
    assert loaded is not None
    assert loaded.operations[0].commands[0].args[0] == "HSET"


def test_rates_are_levels(redis: Redis) -> None:
    shares = redis("--rates", "10%..90%", "-t", "get")
    assert shares.ad_hoc.load.needs_capacity
    rates = {name: plan.model for name, plan in shares.plans.items()}
    assert {f"get, {10 * place} %" for place in range(1, 10)} == set(rates)
    assert rates["get, 30 %"] == Open(rate_per_s=3000)
    absolute = redis("--rates", "1k,5000", "-t", "get", "--arrivals", "poisson")
    assert not absolute.ad_hoc.load.needs_capacity
    assert {plan.model for plan in absolute.plans.values()} == {
        Open(rate_per_s=1000, arrivals="poisson"),
        Open(rate_per_s=5000, arrivals="poisson"),
    }
    assert redis("--rate", "20k", "-t", "get").plan().model == Open(rate_per_s=20_000)
    precise = Open(rate_per_s=20_000, spin_us=SPIN_US)
    assert redis("--rate", "20k", "-t", "get", "--precise").plan().model == precise


def test_what_is_left_of_the_load_has_its_place(redis: Redis) -> None:
    plan = redis("-t", "get", "--think", "5ms", "--timeout", "250ms", "--warm-up", "2", "--zipf", "1.2").plan()
    assert isinstance(plan.model, Closed)
    assert (plan.model.think_time_ms, plan.timeouts.request_ms, plan.phases.warm_up_s) == (5, 250, 2)
    assert (plan.keys.distribution, plan.keys.zipf_exponent) == ("zipf", 1.2)
    assert redis("--at-rate", "50%").run_plan.at_rate is not None
    assert redis("--budget", "3m").experiment.design.budget == "3m"


def test_two_servers_take_turns_in_rounds(redis: Redis) -> None:
    found = redis("redis://127.0.0.1:1", "--against", "redis://127.0.0.1:2", "-t", "get")
    assert found.experiment.servers["against"]["url"] == "redis://127.0.0.1:2"
    (group,) = found.run_plan.groups
    assert group.sequential
    assert group.rounds is not None
    assert group.metric == "goodput_per_s"
    by_rate = redis("redis://127.0.0.1:1", "--against", "redis://127.0.0.1:2", "-t", "get", "--rate", "1000")
    assert by_rate.run_plan.groups[0].metric == "response_ns.p99"
    asked = ", by the P99 of the response time at 1,000 requests a second?"
    assert by_rate.experiment.question.endswith(f"under get{asked}")
    assert by_rate.experiment.comparisons[0].question.endswith(asked)
    assert "P99" not in found.experiment.question
    same = redis("redis://127.0.0.1:1", "--against", "redis://127.0.0.1:1", "-t", "get")
    assert [target.label for target in same.ad_hoc.targets] == ["127.0.0.1:1", "127.0.0.1:1 (B)"]
    assert len(redis("--against", "redis://127.0.0.1:2").run_plan.groups[0].conditions) == 4


def test_a_login_goes_into_the_url_and_is_recorded_nowhere(
    redis: Redis, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ca.pem").touch()
    authority = str(tmp_path / "ca.pem")
    found = redis("redis://h:1/2", "-a", "hunter2pw", "--user", "me", "--tls", "--cacert", authority, "--insecure")
    url = found.experiment.servers["redis"]["url"]
    assert url == f"rediss://me:hunter2pw@h:1/2?ca_file={quote(authority, safe='')}&verify=no"
    said = capsys.readouterr()
    assert "-a: the password stands in the command line" in said.err
    assert "${env:NAME}" in said.err
    recorded = " ".join(found.options.command)
    assert "-a ***" in recorded
    assert not any("hunter2pw" in text for text in (recorded, said.err, found.experiment.question))
    assert redis("-u", "redis://h:1").experiment.servers["redis"]["url"] == "redis://h:1"
    assert (
        redis("valkeys://h:1", "--cacert", authority).experiment.servers["redis"]["url"].startswith("valkeys://h:1?ca")
    )
    reference = redis("redis://h:1", "-a", "${env:HOME}")
    assert reference.experiment.servers["redis"]["url"] == "redis://:${env:HOME}@h:1"


def test_a_host_and_a_port_are_as_good_as_a_url(redis: Redis, capsys: pytest.CaptureFixture[str]) -> None:
    def url(*words: str) -> str:
        return str(redis(*words, "-t", "get").experiment.servers["redis"]["url"])

    assert url("-h", "db1", "-p", "7000") == "redis://db1:7000"
    assert (url("-h", "db1"), url("-p", "7001")) == ("redis://db1:6379", "redis://127.0.0.1:7001")
    assert url("-h", "::1", "-a", "${env:HOME}", "--tls") == "rediss://:${env:HOME}@[::1]:6379"
    for alone in (["-h"], ["-h", "--csv"], ["-c", "5", "-h"]):
        parser()(["redis", *alone], prog_name="loadstone", standalone_mode=False)
        assert "Usage: loadstone redis" in capsys.readouterr().out


def test_a_password_is_hidden_where_it_stands() -> None:
    words = ("redis", "-a", "x", "-ay", "-q", "--at-rate", "-q3az", "-qa", "-a", "-3")
    assert without_password(words) == (
        "redis", "-a", "***", "-a***", "-q", "--at-rate", "-q3a***", "-qa", "***", "-3",
    )  # fmt: skip


def test_every_switch_may_stand_before_a_password() -> None:
    command = parser().get_command(None, "redis")  # type: ignore[attr-defined,arg-type]
    letters = {
        word[1]
        for option in command.params
        if getattr(option, "is_flag", False)
        for word in option.opts
        if len(word) == 2
    }
    assert letters == set(SWITCHES)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["-t", "gett"], "-t 'gett': no such test; did you mean 'get'? known are: "),
        (["-t", "lpop"], "-t lpop: it would soon find nothing; write a mix: --command 'LPUSH {key} {value}' --command"),
        (["-t", "get", "--ratio", "1:1"], "-t, --ratio: each says what is sent; leave all but one out"),
        (["--ratio", "0:0"], "--ratio 0:0: no ratio of SETs to GETs; write for example 1:10"),
        (["--command-ratio", "1"], "--command-ratio: belongs to a --command; write one for each of them"),
        (["--command", "GET {key}", "--command-ratio", "1", "--command-ratio", "2"], "2 for 1 commands; write one"),
        (["--command", "get", "--command", "lrange_100"], "--command: these need different things stored before"),
        (["--commands", "none.txt"], "--commands none.txt: cannot be read (No such file or directory)"),
        (["--load", "SET {key} 1"], "--load: -t and --ratio store what they need by themselves; leave it out"),
        (["--data-size-range", "9-1", "-t", "set"], "--data-size-range 9-1: no range of sizes in bytes; write"),
        (["--data-size-list", "9", "-t", "set"], "--data-size-list 9: no sizes with weights; write at most 16, as"),
        (["--data-size-range", "1-9", "-t", "incr"], "--data-size-range: 'incr' stores no values of several sizes"),
        (["-d", "1"], "-d 1: too small; write at least 2"),
        (["-d", "50", "--verify"], "-d 50: with --verify a value names its key and version; write at least 124"),
        (["--verify", "-t", "incr"], "--verify: 'incr' has no value that could be verified; write -t get,set"),
        (["--key-pattern", "R:G"], "--key-pattern R:G: SETs and GETs have one distribution; write R:R"),
        (["--key-stddev", "5"], "--key-stddev: is for the pattern G:G alone; add --key-pattern G:G"),
        (["--rate", "fast"], "--rate fast: no rate; write requests a second, for example 5000 or 20k"),
        (["--rate", "5", "--rates", "1,2"], "--rate, --rates: leave one of them out"),
        (["--rates", "90%..10%"], "--rates 90%..10%: begins with what it ends with, or more; write"),
        (["--rates", "10%,500"], "--rates 10%,500: rates and shares of the capacity together; write one kind"),
        (["--arrivals", "poisson"], "--arrivals: needs requests that come at a rate; add --rate"),
        (["--precise"], "--precise: needs requests that come at a rate; add --rate"),
        (["--at-rate", "50%", "--think", "5ms"], "--at-rate: users who pause have a rate already; leave it or"),
        (["--rate", "5", "--think", "5ms"], "--think: users pause in the closed model alone; leave it or --rate out"),
        (["-n", "5", "--against", "redis://h:1"], "-n: a comparison ends when it is decided; write --repeat or"),
        (["--test-time", "5", "--against", "redis://h:1"], "--test-time: a comparison ends when it is decided; write"),
        (["-n", "5", "--warm-up", "1"], "-n, --warm-up: exactly so many requests are sent, and all are measured"),
        (["--test-time", "5", "-n", "5"], "-n, --test-time: leave one of them out"),
        (["--slice", "1s"], "--slice: sets how long a turn of a comparison lasts; add --against, or leave it out"),
        (["--rate", "5", "--at-rate", "50%"], "--at-rate: the load has a rate already; leave it or --rate out"),
        (["--cluster", "-t", "mset"], "-t mset: its keys are on several nodes of a cluster; leave it or --cluster out"),
        (["-a", "x"], "-a: is for a server of yours; add its URL, or leave it out"),
        (["redis://u:p@h:1", "-a", "x"], "-a: the URL has a login already; leave one of them out"),
        (["redis://h:1", "--user", "x"], "--user: a user logs in by a password; add -a PASSWORD"),
        (["redis://h:1", "--cacert", "x"], "--cacert: is for TLS alone; add --tls, or write rediss://"),
        (["redis://h:1", "-u", "redis://h:2"], "-u: the URL is given already; leave one of them out"),
        (["unix:///x", "--cluster"], "--cluster: its nodes are reached by TCP; write redis://HOST:PORT of one of them"),
        (["${env:HOME}", "--cluster"], "--cluster: needs a URL that can be read here; write cluster=yes into the one"),
        (
            ["--cluster", "--against", "redis://h:1"],
            "--cluster: with --against both are clusters of yours; add the URL",
        ),
        (["h:1"], "URL 'h:1': it begins with no scheme; write redis://h:1"),
        (["--against", "h:1"], "--against 'h:1': it begins with no scheme; write redis://h:1"),
        (["-c", "0"], "-c 0: not a number of connections; write a number from 1 to 65536"),
        (["--test-time", "1x"], "--test-time 1x: '1x' is not a time; "),
        (["-p", "x"], "-p x: not a port; write a number from 1 to 65535"),
        (["redis://h:1", "-h", "h"], "-h: the URL is given already; leave one of them out"),
        (["-h", "redis://h"], "-h redis://...: a host has no scheme; write the URL without -h"),
        (["-h", "u:hunter2@h"], "-h: a host has no login, no path and no options; write a URL without -h"),
        (["--tls-ciphers", "x"], "--tls-ciphers: is not there yet; leave it out"),
        (["--key-prefix", "x"], "--key-prefix: keys have names of loadstone's own, so that yours are not touched"),
    ],
)
def test_a_slip_names_the_option_and_what_to_write(redis: Redis, arguments: list[str], error: str) -> None:
    with pytest.raises(UserError) as raised:
        redis(*arguments).run_plan  # noqa: B018 (what is wrong may be found by planning)
    assert str(raised.value).count("\n") == 0
    assert error in str(raised.value)


@pytest.mark.parametrize("option", REDIS_PEERS.refused)
def test_a_peers_option_is_refused_by_name_with_what_to_write(redis: Redis, option: str) -> None:
    with pytest.raises(UserError, match=f"^{option}: "):
        redis(option)


@pytest.mark.parametrize("option", HTTP_PEERS.refused)
def test_so_it_is_over_http(said: Callable[..., Said], option: str) -> None:
    with pytest.raises(UserError, match=f"^{option}: "):
        said("http", "http://127.0.0.1:1", option)


@pytest.mark.parametrize(("rate", "arrivals"), [(5_000, "constant"), (5_000, "poisson"), (1_000, "constant")])
def test_a_row_at_a_rate_is_measured_until_its_p99_has_enough_operations(
    redis: Redis, rate: int, arrivals: str
) -> None:
    plan = redis("--rate", str(rate), "--arrivals", arrivals, "-t", "get")
    assert REPEATS * plan.plan().phases.measure_s * rate >= 10_300
    assert REPEATS * redis("--rate", "10", "-t", "get").plan().phases.measure_s <= 28, "within reason"
    said = redis("--rate", str(rate), "--test-time", "2", "-t", "get").plan()
    assert 10 * REPEATS * said.phases.measure_s * rate >= 10 * 2 * rate, "no shorter than what was required"


def test_whether_it_stays_awake_is_left_to_the_machine_unless_it_is_required(redis: Redis) -> None:
    assert redis("--rate", "20k", "-t", "get").plan().model == Open(rate_per_s=20_000, spin_us=None)
