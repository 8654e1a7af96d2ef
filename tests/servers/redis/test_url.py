"""Servers of the user's, by URL."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.real_servers import UserRedis, is_gone

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.safety.errors import ServerGone, UserError
from loadstone.safety.secrets.in_texts import hide_url
from loadstone.servers.redis.url import parse_url
from loadstone.servers.redis.users_process import local_pid
from loadstone.servers.redis.users_server import UrlSettings
from loadstone.servers.server import DeployContext


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("redis://", Endpoint()),
        ("redis://example.org", Endpoint(host="example.org")),
        ("redis://[::1]:7000/2", Endpoint(host="::1", port=7000, database=2)),
        ("redis://:se%40cret@h:1", Endpoint(host="h", port=1, password="se@cret")),
        ("redis://me:it@h/3?", Endpoint(host="h", username="me", password="it", database=3)),
        ("redis://h?db=4", Endpoint(host="h", database=4)),
        ("unix:///run/redis.sock?db=1", Endpoint(unix_path="/run/redis.sock", database=1)),
        ("unix://me:it@/run/redis.sock", Endpoint(unix_path="/run/redis.sock", username="me", password="it")),
        ("rediss://h", Endpoint(host="h", tls=Tls())),
        ("rediss://h?verify=no", Endpoint(host="h", tls=Tls(verify=False))),
        ("rediss://h?ca_file=/c.pem&server_name=n", Endpoint(host="h", tls=Tls(ca_file="/c.pem", server_name="n"))),
    ],
)
def test_a_url_is_an_endpoint(url: str, endpoint: Endpoint) -> None:
    assert parse_url(url) == endpoint


def test_the_password_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_PASSWORD", "se@cret")
    assert parse_url("redis://me@h?password_env=THE_PASSWORD").password == "se@cret"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://h", "redis://, rediss://, unix://"),
        ("localhost:6379", "redis://, rediss://, unix://"),
        ("redis://h:port", "[Pp]ort"),
        ("redis://h:99999", "[Pp]ort"),
        ("redis://h/nought", "database 'nought' is not a number"),
        ("redis://h?verify=no", "'verify' is for TLS only"),
        ("rediss://h?verify=perhaps", "neither yes nor no"),
        ("rediss://h?cafile=x", "unknown option 'cafile'; did you mean 'ca_file'"),
        ("unix://", "names no socket"),
        ("redis://h?password_env=NOT_THERE", "no variable 'NOT_THERE'"),
    ],
)
def test_a_wrong_url_is_said_in_one_line(url: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as refused:
        parse_url(url)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    ["redis://:hunter2@h:port", "http://me:hunter2@h", "redis://me:hun/ter2@h:x", "redis://me:hunter2@h/0?bad=1"],
)
def test_no_message_shows_the_password(url: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_url(url)
    with pytest.raises(ValidationError) as invalid:
        UrlSettings(url=url)
    for text in (str(refused.value), str(invalid.value), hide_url(url)):
        assert "ter2" not in text
        assert "***" in text


def test_settings_do_not_show_the_password() -> None:
    assert "hunter2" not in repr(UrlSettings(url="redis://:hunter2@h"))


def test_a_server_of_the_user_s_is_found_and_left_alone(
    user_redis: Callable[..., UserRedis], context: DeployContext
) -> None:
    theirs = user_redis()
    with theirs.client() as client:
        client.set("theirs", "1")
    server = UrlSettings(url=theirs.url).server("redis")
    endpoint = server.start(context)
    assert endpoint.port == theirs.port
    assert server.pids == {"redis": theirs.pid}
    assert server.settings_read_back["maxmemory"] == "0"
    assert not server.ours
    server.stop()
    assert server.alive()
    with theirs.client() as client:
        assert client.keys("*") == ["theirs"]


def test_a_unix_socket_is_a_server_too(
    user_redis: Callable[..., UserRedis], context: DeployContext, tmp_path: Path
) -> None:
    theirs = user_redis("--unixsocket", str(tmp_path / "redis.sock"))
    server = UrlSettings(url=f"unix://{tmp_path}/redis.sock").server("redis")
    assert server.start(context).unix_path == str(tmp_path / "redis.sock")
    assert server.pids == {"redis": theirs.pid}


@pytest.mark.fault("your Redis dies")
def test_a_dead_server_of_the_user_s_is_gone_not_restarted(
    user_redis: Callable[..., UserRedis], context: DeployContext
) -> None:
    import psutil

    theirs = user_redis()
    server = UrlSettings(url=theirs.url).server("redis")
    server.start(context)
    assert server.restart().port == theirs.port
    psutil.Process(theirs.pid).kill()
    psutil.Process(theirs.pid).wait()
    assert is_gone(theirs.pid)
    assert not server.alive()
    with pytest.raises(ServerGone, match="does not restart what it did not start"):
        server.restart()


def test_a_process_that_only_forwards_is_not_taken_for_the_server(user_redis: Callable[..., UserRedis]) -> None:
    first, second = user_redis(), user_redis()
    assert local_pid(Endpoint(port=first.port), first.pid) == first.pid
    assert local_pid(Endpoint(port=first.port), second.pid) is None
    assert local_pid(Endpoint(port=first.port), None) is None
    assert local_pid(Endpoint(host="192.0.2.1", port=first.port), first.pid) is None


def test_without_the_right_to_see_sockets_the_title_tells(
    user_redis: Callable[..., UserRedis], monkeypatch: pytest.MonkeyPatch
) -> None:
    import psutil

    def refuse(kind: str) -> list[object]:
        raise psutil.AccessDenied(msg=kind)

    theirs = user_redis()
    monkeypatch.setattr(psutil, "net_connections", refuse)
    assert local_pid(Endpoint(port=theirs.port), theirs.pid) == theirs.pid
    assert local_pid(Endpoint(port=theirs.port + 1), theirs.pid) is None
