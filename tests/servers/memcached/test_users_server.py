"""A memcached of the user's: its URL, what may be sent to it, how much room it has, and that nothing of ours stays."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.experiment.software import software_by_url
from loadstone.experiment.spec.loading import load_experiment
from loadstone.run.preflight import require_room
from loadstone.run_folder.ledger import CreatedObject, CreatedObjects
from loadstone.safety.errors import BadReply, ServerGone, UserError
from loadstone.servers import registry
from loadstone.servers.control import CommandRefusal
from loadstone.servers.leftovers import remove_left
from loadstone.servers.memcached.confinement import ConfinedMeta
from loadstone.servers.memcached.control import MemcachedControl
from loadstone.servers.memcached.url import parse_memcached_url
from loadstone.servers.server import DeployContext
from tests import rogues

PREFIX = "loadstone:00000001:001:"
EXPERIMENT = """\
format: 1
name: small-cache
question: How fast?
factors:
  payload: {title: Payload, levels: [100 B, PAYLOAD]}
tables:
  - {name: all, title: All, vary: {payload: [PAYLOAD]}}
servers:
  cache: {kind: memcached-url, url: "URL"}
workload:
  protocol: memcached
  model: {kind: closed, users: 2}
  pool: {connections: 2}
  keys: {count: KEYS}
  documents: {payload_bytes: "${payload}"}
  operations:
    - name: set
      commands: [{args: "ms {key} {value}", expect: ok}]
"""


def trials(tmp_path: Path, url: str, payload: str, keys: int) -> list[PlannedTrial]:
    file = tmp_path / "small-cache.yaml"
    file.write_text(EXPERIMENT.replace("PAYLOAD", payload).replace("URL", url).replace("KEYS", str(keys)))
    return list(make_run_plan(load_experiment(file)).every_trial)


def test_a_url_names_host_port_and_login(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_memcached_url("memcached://cache.local").label == "cache.local:11211"
    monkeypatch.setenv("CACHE_PASSWORD", "hunter2-hunter2")
    found = parse_memcached_url("memcached://ann@[::1]:5000/?password_env=CACHE_PASSWORD")
    assert (found.host, found.port, found.username, found.password) == ("::1", 5000, "ann", "hunter2-hunter2")
    assert software_by_url("memcached://x").name == "memcached"


@pytest.mark.parametrize(
    "url", ["memcache://h", "memcached://h/1", "memcached://h:port", "memcached://h:99999", "memcached://h?db=1", "h"]
)
def test_what_is_no_url_is_refused_in_one_line(url: str) -> None:
    with pytest.raises(UserError, match=r"^url '") as refused:
        parse_memcached_url(url)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "command",
    [
        ("mg", "{key}", "v"), ("ms", "{key}", "{value}", "T60"), ("md", "{key}"), ("ma", "loadstone:hits", "N0", "v"),
        ("mn",), ("ms", "{key}", "q b flush_all"),
    ],
)  # fmt: skip
def test_meta_commands_on_keys_of_ours_pass(command: tuple[str, ...]) -> None:
    ConfinedMeta().command(command, PREFIX)


@pytest.mark.parametrize(
    "command",
    [
        ("flush_all",), ("set", "{key}", "0", "0", "1"), ("stats",), ("me", "{key}"), ("mg",), ("mg", "theirs", "v"),
        ("mg", "loadstone:{uniform 1..9}", "v"), ("mg", "{key}:x", "v"), ("ms", "{key}", "x", "q"),
        ("mg", "{key}", "b"), ("mg", "{key}", "v\r\nflush_all"), ("mg", "{key}", "Z"), ("md", "{key}", "N0"),
        ("ma", "{key}", "{value}"),
        ("mg", "loadstone:a b"), ("MG", "{key}"), ("lru_crawler", "metadump", "all"),
    ],
)  # fmt: skip
def test_everything_else_is_refused(command: tuple[str, ...]) -> None:
    with pytest.raises(CommandRefusal):
        ConfinedMeta().command(command, PREFIX)
    with pytest.raises(CommandRefusal):
        ConfinedMeta().row_command(" ".join(command))


def test_counts_are_confined() -> None:
    confinement = ConfinedMeta()
    confinement.count("stats curr_items", of_application=False)
    confinement.count("mg loadstone:n v", of_application=False)
    confinement.count("mg theirs v", of_application=True)
    for text in ("mg theirs v", "flush_all", "stats", ""):
        with pytest.raises(CommandRefusal):
            confinement.count(text, of_application=False)


def test_nothing_is_written_to_a_full_one_to_see_whether_it_can_be(users_memcached: Callable[..., Any]) -> None:
    with MemcachedControl(users_memcached("-m", "2").endpoint) as control:
        numbers = iter(range(10**9))
        while not int(control.stats()["evictions"]):
            control.pipelined([("ms", f"theirs:{next(numbers):09d}", b"x" * 18) for _ in range(1000)])
        before = control.stats()
        assert control.facts().software == "memcached"
        after = control.stats()
        assert [after[name] for name in ("evictions", "cmd_set")] == [before[name] for name in ("evictions", "cmd_set")]
        with pytest.raises(ServerGone, match=r"it said '1\.6\.9'"):
            control._require_version("1.6.9")


def test_what_a_run_left_is_removed_and_nothing_of_theirs(users_memcached: Callable[..., Any]) -> None:
    with MemcachedControl(users_memcached().endpoint) as control:
        ours = [f"{PREFIX}{number:012d}" for number in range(20)]
        control.pipelined([("ms", key, "x") for key in (*ours, "loadstone:hits", "theirs")])
        commands = [("ms", "{key}", "{value}"), ("ma", "loadstone:hits", "v"), ("mg", "loadstone:read", "v")]
        assert control.left_by_load(commands, PREFIX) == [CreatedObject("key", "loadstone:hits")]
        traces = CreatedObjects()
        traces.note(CreatedObject("numbered_keys", PREFIX, 20), *control.left_by_load(commands, PREFIX))
        control.remove_traces(traces)
        assert not traces.things
        assert control.keys() == 1
        things = [
            CreatedObject("numbered_keys", "loadstone:", 5),
            CreatedObject("key", "theirs"),
            CreatedObject("key", "loadstone:hits"),
        ]
        assert [outcome.left for outcome in control.remove_left("run", things)] == [True, True, False]
        hostile = [
            CreatedObject("key", "loadstone:a\r\nflush_all"),
            CreatedObject("numbered_keys", "loadstone:a:\r\nflush_all ", 1),
        ]
        assert all(outcome.left for outcome in control.remove_left("run", hostile))
        for name in ("loadstone:a\r\nflush_all", "loadstone:a b"):
            with pytest.raises(UserError, match="no word of memcached's protocol"):
                control.remove_keys([name])
        assert control.present(["theirs"]) == [True]


def test_a_run_that_does_not_fit_beside_keys_of_others_is_refused(
    users_memcached: Callable[..., Any], tmp_path: Path
) -> None:
    theirs = users_memcached("-m", "16")
    planned = trials(tmp_path, theirs.url, "1 kB", 100_000)
    server = registry.make_server("cache", {"kind": "memcached-url", "url": theirs.url})
    server.start(DeployContext(work_root=tmp_path))
    require_room(server, planned)  # what evicts nothing of others may overflow
    with server.control() as control:
        control.pipelined([("ms", "theirs", "x")])  # type: ignore[attr-defined]
    with pytest.raises(UserError, match="evict keys of others") as refused:
        require_room(server, planned)
    assert "\n" not in str(refused.value)


def test_an_item_that_is_too_large_is_one_line_before_anything_is_sent(
    users_memcached: Callable[..., Any], tmp_path: Path
) -> None:
    theirs = users_memcached()
    server = registry.make_server("cache", {"kind": "memcached-url", "url": theirs.url})
    server.start(DeployContext(work_root=tmp_path))
    require_room(server, trials(tmp_path, theirs.url, "100 kB", 10))
    with pytest.raises(UserError, match=r"it takes items of at most .* raise that \(max-item-size, -I\)"):
        require_room(server, trials(tmp_path, theirs.url, "2 MB", 10))


def test_evictions_are_noticed(users_memcached: Callable[..., Any]) -> None:
    theirs = users_memcached("-m", "16")
    with MemcachedControl(theirs.endpoint) as control:
        watch = control.loss_watch("cache")
        assert watch.lost() is None
        for start in range(0, 20_000, 1000):
            control.pipelined([("ms", f"loadstone:e:{start + n}", "x" * 2000) for n in range(1000)])
        lost = watch.lost()
        assert lost is not None
        assert "it evicted" in str(lost)
        assert "\n" not in str(lost)


GOOD = {"pid": 7, "time": 2, "uptime": 1, "limit_maxbytes": 64_000_000, "bytes": 1, "curr_items": 3, "evictions": 0}


def sick(**figures: object) -> rogues.Speak:
    """A memcached that reports these, and holds nothing."""
    reported = rogues.stats(**{**GOOD, "version": "1.6.40", **figures})
    return rogues.memcached(lambda line, _: reported if line.startswith(b"stats") else None)


@pytest.mark.parametrize("figure", ["limit_maxbytes", "bytes", "curr_items", "evictions"])
@pytest.mark.parametrize("text", ["huge", "-1", "9" * 30, "1e9"])
def test_a_figure_that_is_none_is_named_and_not_taken_for_zero(figure: str, text: str, tmp_path: Path) -> None:
    with rogues.rogue(sick(**{figure: text})) as port:
        url = f"memcached://127.0.0.1:{port}"
        server = registry.make_server("cache", {"kind": "memcached-url", "url": url})
        with pytest.raises(UserError, match=rf"stats: it answered '{figure} {text[:20]}.* a whole number") as refused:
            server.start(DeployContext(work_root=tmp_path))
    assert "\n" not in str(refused.value)


def test_a_reply_that_cannot_be_read_is_shown_and_not_what_python_says_of_it() -> None:
    said = "stats: it answered 'huge', and the number of items was expected"
    with (
        rogues.rogue(sick(curr_items="huge")) as port,
        MemcachedControl(Endpoint(port=port)) as control,
        pytest.raises(BadReply, match=said),
    ):
        control.keys()


@pytest.mark.parametrize("text", ["nan", "infinity", "-inf"])
def test_a_snapshot_holds_no_figure_that_is_none(text: str) -> None:
    counted = [f"{name}_{end}" for name in ("get", "delete", "incr", "decr") for end in ("hits", "misses")]
    figures = dict.fromkeys((*counted, "cmd_get", "cmd_set"), 1) | {"bytes_read": text}
    with (
        rogues.rogue(sick(**figures)) as port,
        MemcachedControl(Endpoint(port=port)) as control,
        pytest.raises(BadReply, match=f"it answered {text}"),
    ):
        control.snapshot()


def test_keys_that_no_one_could_count_are_not_tried_one_by_one() -> None:
    asked: list[bytes] = []

    def answer(line: bytes, _: object) -> bytes | None:
        asked.append(line)
        return None

    things = [CreatedObject("numbered_keys", PREFIX, 10**18), CreatedObject("numbered_keys", PREFIX, 2000)]
    with rogues.rogue(rogues.memcached(answer)) as port, MemcachedControl(Endpoint(port=port)) as control:
        outcomes = list(remove_left(control, "run", things))
    assert [(outcome.thing, outcome.left) for outcome in outcomes] == [(things[0], True), (things[1], False)]
    assert "memcached does not list its keys" in str(outcomes[0].text)
    assert sum(line.startswith(b"md ") for line in asked) == 2000


def test_a_run_whose_keys_could_not_be_removed_is_refused(tmp_path: Path) -> None:
    with rogues.rogue(sick()) as port:
        url = f"memcached://127.0.0.1:{port}"
        server = registry.make_server("cache", {"kind": "memcached-url", "url": url})
        server.start(DeployContext(work_root=tmp_path))
        with pytest.raises(UserError, match=r"200,000,000 keys there, and memcached does not list its keys"):
            require_room(server, trials(tmp_path, url, "1 kB", 200_000_000))


@pytest.mark.parametrize("digits", [20, 4000])
def test_a_count_that_no_record_can_hold_is_refused(digits: int) -> None:
    def answer(line: bytes, _: object) -> bytes | None:
        if line.startswith(b"stats"):
            return rogues.stats(**{**GOOD, "curr_items": "9" * digits})
        return b"VA %d\r\n%s\r\n" % (digits, b"9" * digits) if line.startswith(b"mg ") else None

    with rogues.rogue(rogues.memcached(answer)) as port, MemcachedControl(Endpoint(port=port)) as control:
        for text in ("stats curr_items", "mg loadstone:n v"):
            with pytest.raises(UserError, match="the answer is no number"):
                control.count(text)
        with pytest.raises(BadReply, match="the number of items was expected"):
            control.keys()


def test_a_value_that_does_not_end_where_it_says_is_no_reply() -> None:
    answers = rogues.memcached(lambda line, _: b"VA 2\r\n12XX" if line.startswith(b"mg ") else None)
    with (
        rogues.rogue(answers) as port,
        MemcachedControl(Endpoint(port=port)) as control,
        pytest.raises(BadReply, match="the end of a value was expected"),
    ):
        control.count("mg loadstone:n v")


def test_what_it_says_of_itself_is_recorded_short_and_printable() -> None:
    with (
        rogues.rogue(sick(version="1.6\x1b[31m" + "x" * 7000, threads="\x1b[2J" + "y" * 7000)) as port,
        MemcachedControl(Endpoint(port=port)) as control,
    ):
        facts = control.facts()
    for text in (facts.version, facts.details["threads"]):
        assert len(text) <= 120
        assert text.isprintable()
