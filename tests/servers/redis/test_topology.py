"""What a node announces of its cluster, as a stranger may write it: no address is connected to that it cannot have."""

from collections.abc import Mapping
from typing import Any

import pytest

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.safety.errors import BadReply, UserError
from loadstone.servers.redis.redirect_targets import allowed_by
from loadstone.servers.redis.url import parse_sentinel_url, parse_url
from loadstone.servers.redis.users_cluster import ClusterNode, endpoints_of, read_topology

OK = b"cluster_state:ok\r\ncluster_slots_assigned:16384\r\ncluster_slots_ok:16384\r\n"
ALL = [0, 16_383, [b"10.0.0.1", 7000, b"a" * 40, []]]
FLAGS = "0 1 2 3 connected"


class Node:
    """Answers as a node would."""

    def __init__(self, host: str = "10.0.0.1", **replies: Any) -> None:
        self.endpoint = Endpoint(host=host, port=7000, password="secret")
        self._replies: Mapping[str, Any] = {"INFO": OK, "NODES": b"", "SLOTS": [ALL], **replies}

    def call(self, _: bytes, part: str) -> Any:
        return self._replies[part]


def topology(node: Node) -> list[ClusterNode]:
    return read_topology(node)  # type: ignore[arg-type]


def line(place: str, flags: str, letter: str = "b") -> bytes:
    return f"{letter * 40} {place} {flags} - {FLAGS}\n".encode()


def announcing(host: bytes, named: str = "10.0.0.1") -> str:
    with pytest.raises(UserError) as refused:
        topology(Node(named, SLOTS=[[0, 16_383, [host, 80, b"a" * 40, []]]]))
    return str(refused.value)


def test_nodes_have_their_slots_in_any_order_and_pieces() -> None:
    own, other = [b"10.0.0.1", 7000, b"a" * 40, []], [b"10.0.0.2", 7000, b"b" * 40]
    replies = [[8001, 16_383, own], [0, 7000, own, other], [7001, 8000, other]]
    nodes = topology(Node(SLOTS=replies))
    assert [(node.label, node.slots) for node in nodes] == [
        ("10.0.0.1:7000", ((0, 7000), (8001, 16_383))),
        ("10.0.0.2:7000", ((7001, 8000),)),
    ]
    endpoints = endpoints_of(Endpoint(host="named", port=1, username="u", password="p"), nodes)
    assert [(one.label, one.username, one.password) for one in endpoints] == [(node.label, "u", "p") for node in nodes]


def test_nodes_without_slots_stand_behind_the_others_primaries_first() -> None:
    text = b"".join(
        (
            line("10.0.0.1:7000@17000", "myself,master", "a"),
            line("10.0.0.3:7003@17003", "slave", "c"),
            line("10.0.0.4:7004@17004,name4", "master", "d"),
            line("10.0.0.5:7005@17005", "slave,fail", "e"),
            line(":0@0", "master,noaddr", "f"),
            line("10.0.0.7:7007@17007", "handshake", "g"),
        )
    )
    nodes = topology(Node(NODES=text))
    assert [(node.label, node.is_primary) for node in nodes] == [
        ("10.0.0.1:7000", True), ("10.0.0.4:7004", True), ("10.0.0.3:7003", False),
    ]  # fmt: skip


def test_without_a_host_a_node_is_where_it_was_reached() -> None:
    for host in (None, b""):
        (node,) = topology(Node("10.9.9.9", SLOTS=[[0, 16_383, [host, 7001, b"a" * 40]]]))
        assert node.label == "10.9.9.9:7001"


@pytest.mark.parametrize(
    ("host", "what"),
    [
        (b"127.0.0.1", "of this machine alone"),
        (b"localhost", "of this machine alone"),
        (b"::1", "of this machine alone"),
        (b"::ffff:127.0.0.1", "of this machine alone"),
        (b"2130706433", "of this machine alone"),
        (b"169.254.169.254", "of one link alone"),
        (b"fe80::1", "of one link alone"),
        (b"0.0.0.0", "of no host"),
        (b"224.0.0.1", "of no host"),
    ],
)
def test_an_address_that_means_something_else_here_is_refused(host: bytes, what: str) -> None:
    said = announcing(host)
    assert (
        f"it announces a node of its cluster at {host.decode()}:80, an address {what}; set cluster-announce-ip there"
        in said
    )


def test_a_cluster_of_this_machine_has_its_addresses() -> None:
    for named, host in (("localhost", b"127.0.0.1"), ("127.0.0.1", b"::1")):
        (node,) = topology(Node(named, SLOTS=[[0, 16_383, [host, 7001, b"a" * 40]]]))
        assert node.host == host.decode()
    assert "of one link alone" in announcing(b"169.254.169.254", "127.0.0.1")


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        (
            {"INFO": b"cluster_state:fail\r\ncluster_slots_ok:9\r\n"},
            "does not serve (cluster_state fail, cluster_slots_ok 9)",
        ),
        ({"INFO": b"x"}, "does not serve (no state); repair it first: redis-cli --cluster check 10.0.0.1:7000"),
        ({"SLOTS": []}, "no node of its cluster has slot 0; give it to one: redis-cli --cluster fix 10.0.0.1:7000"),
        ({"SLOTS": [[0, 16_382, ALL[2]]]}, "no node of its cluster has slot 16383"),
        (
            {"NODES": b"".join(line(f"10.0.{n // 250}.{n % 250 + 1}:1@2", "master", "x") for n in range(1200))},
            "1,200 nodes",
        ),
    ],
)
def test_what_cannot_be_loaded_is_named(replies: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as refused:
        topology(Node(**replies))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "replies",
    [
        {"SLOTS": b"OK"},
        {"SLOTS": [[0, 16_384, ALL[2]]]},
        {"SLOTS": [[5, 1, ALL[2]]]},
        {"SLOTS": [[0, 16_383]]},
        {"SLOTS": [[0, 16_383, [b"10.0.0.1", 0, b"a"]]]},
        {"SLOTS": [[0, 16_383, [b"10.0.0.1", 65_536, b"a"]]]},
        {"SLOTS": [[0, 16_383, [b"10.0.0.1 \x1b[2J", 1, b"a"]]]},
        {"SLOTS": [[0, 16_383, [b"\xff", 1, b"a"]]]},
        {"NODES": b"one two\n"},
        {"NODES": line("10.0.0.2:port@1", "master")},
        {"NODES": line("10.0.0.2/../x:1@1", "master")},
        {"NODES": b"\xff"},
        {"INFO": 7, "NODES": 7},
    ],
)
def test_what_no_node_says_is_one_line(replies: dict[str, Any]) -> None:
    with pytest.raises((BadReply, UserError)) as refused:
        topology(Node(**replies))
    assert "\n" not in str(refused.value)
    assert "\x1b" not in str(refused.value)


def test_more_nodes_than_a_cluster_has_are_refused_before_they_are_looked_at() -> None:
    many = b"".join(line(f"10.0.0.1:{1 + number % 60_000}@1", "slave") for number in range(20_000))
    with pytest.raises(UserError, match=r"it announces 20,000 nodes; at most 1,000 are loaded"):
        topology(Node(NODES=many))


HOSTS = {"10.0.0.0/24": True, "10.0.0.1,10.0.0.2": True, "10.0.0.1": False, "db-1.example,10.0.1.0/24": False}


@pytest.mark.fault("a Sentinel or node names a host outside `?hosts=`")
@pytest.mark.parametrize("hosts", HOSTS)
def test_nodes_are_held_against_the_hosts_of_the_url(hosts: str) -> None:
    slots = [[0, 16_383, [b"10.0.0.2", 7000, b"a" * 40, []]]]
    allowed = allowed_by(f"redis://10.0.0.1:7000?cluster=yes&hosts={hosts}")
    if HOSTS[hosts]:
        read_topology(Node(SLOTS=slots), allowed)  # type: ignore[arg-type]
        return
    with pytest.raises(UserError, match=r"10\.0\.0\.2:7000, which is none of hosts of its URL.*nothing was sent"):
        read_topology(Node(SLOTS=slots), allowed)  # type: ignore[arg-type]


def test_a_name_that_is_announced_is_not_looked_up_to_see_whether_it_is_allowed() -> None:
    allowed = allowed_by("redis://x?hosts=127.0.0.0/8,Db-1.Example.")
    assert allowed.include("db-1.example")
    assert allowed.include("127.9.9.9")
    assert not allowed.include("localhost")


@pytest.mark.parametrize("hosts", ["", "a b", "10.0.0.0/99", "a,,b", "a/8"])
def test_hosts_that_are_none_are_refused(hosts: str) -> None:
    for url in (f"redis://h?hosts={hosts}", f"redis+sentinel://h/main?hosts={hosts}"):
        with pytest.raises(UserError, match=r"is no host; write names, addresses or networks"):
            parse_sentinel_url(url) if "sentinel" in url else parse_url(url)
