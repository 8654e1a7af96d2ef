"""Every server that cannot be loaded is named in one line: where, what it said, what helps."""

import socket
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from tests.real_servers import Certificates, Scripted, UserRedis, wait_until

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.ports import free_port
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers.redis import probe
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.requirements import inspect_server
from loadstone.servers.redis.url import parse_url
from loadstone.servers.server import ServerFacts

Start = Callable[..., UserRedis]
Script = Callable[[bytes | None], Scripted]

DENIED = (
    b"-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the "
    b"default user. In this mode connections are only accepted from the loopback interface.\r\n"
)


def refusal(url: str, modules: tuple[str, ...] = ()) -> str:
    with pytest.raises(UserError) as refused:
        inspect_server(parse_url(url), modules)
    text = str(refused.value)
    assert text.startswith(f"server {parse_url(url).label}: ")
    assert "\n" not in text
    assert "hunter2" not in text
    return text


def tls_redis(start: Start, binary: Path, certificates: Certificates, clients: str) -> UserRedis:
    files = ("--tls-cert-file", str(certificates.cert), "--tls-key-file", str(certificates.key))
    ca = ("--tls-ca-cert-file", str(certificates.ca), "--tls-auth-clients", clients)
    return start(*files, *ca, binary=binary, tls=True)


def test_a_server_that_can_be_loaded_says_what_it_is(user_redis: Start) -> None:
    theirs = user_redis()
    found = inspect_server(parse_url(theirs.url))
    assert isinstance(found, ServerFacts)
    assert (found.software, found.mode, found.role) == ("redis", "standalone", "master")
    assert found.process_id == theirs.pid
    with theirs.client() as client:
        assert client.dbsize() == 0


def test_nothing_there() -> None:
    assert "nothing listens there (Connection refused)" in refusal(f"redis://127.0.0.1:{free_port()}")


def test_no_such_socket(tmp_path: Path) -> None:
    assert "nothing listens there (No such file or directory)" in refusal(f"unix://{tmp_path}/redis.sock")


def test_no_such_host() -> None:
    assert "no such host" in refusal("redis://no-such-host.invalid")


@pytest.mark.fault("a server is not Redis, is silent, or hangs up", "one line before the run", area="replies")
def test_something_that_is_not_redis(scripted: Script) -> None:
    text = refusal(scripted(b"HTTP/1.1 400 Bad Request\r\n\r\n").url)
    assert "not Redis (it said 'HTTP/1.1 400 Bad Request')" in text


@pytest.mark.fault("a server is not Redis, is silent, or hangs up")
def test_something_that_says_nothing(scripted: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "PROBE_S", 0.5)
    assert "does not answer" in refusal(scripted(None).url)


@pytest.mark.fault("a server is not Redis, is silent, or hangs up")
def test_something_that_hangs_up(scripted: Script) -> None:
    assert "closed the connection" in refusal(scripted(b"").url)


def test_protected_mode(scripted: Script) -> None:
    text = refusal(scripted(DENIED).url)
    assert "protected mode" in text
    assert "requirepass" in text


def test_a_password_is_required(user_redis: Start) -> None:
    text = refusal(user_redis("--requirepass", "hunter2").url)
    assert "requires a password (NOAUTH" in text
    assert "password_env" in text


def test_the_password_is_wrong(user_redis: Start) -> None:
    port = user_redis("--requirepass", "another").port
    assert "refuses the password of user 'default' (WRONGPASS" in refusal(f"redis://:hunter2@127.0.0.1:{port}")


def test_a_password_where_none_is_set(user_redis: Start) -> None:
    text = refusal(f"redis://:hunter2@127.0.0.1:{user_redis().port}")
    assert "leave the password out" in text


def test_a_user_who_may_not_write(user_redis: Start) -> None:
    theirs = user_redis(*["--user", "reader", "on", ">hunter2", "~*", "+@read", "+ping", "+info"])
    text = refusal(f"redis://reader:hunter2@127.0.0.1:{theirs.port}")
    assert "user 'reader' may not" in text
    assert "~loadstone:*" in text


def test_a_user_who_may_only_touch_our_keys_is_enough(user_redis: Start) -> None:
    granted = ("~loadstone:*", "+@all", "-@dangerous", "+info", "+config|get")
    theirs = user_redis("--user", "lab", "on", ">hunter2", *granted)
    assert inspect_server(parse_url(f"redis://lab:hunter2@127.0.0.1:{theirs.port}")).role == "master"


def test_no_json(user_redis: Start) -> None:
    text = refusal(user_redis().url, ("json",))
    assert "it has no JSON (ERR unknown command 'JSON.GET')" in text
    assert "--loadmodule" in text


def test_a_read_only_replica(user_redis: Start) -> None:
    primary = user_redis("--repl-diskless-sync-delay", "0")
    replica = user_redis("--replicaof", f"127.0.0.1 {primary.port}")
    with replica.client() as client:
        wait_until(lambda: client.info("replication")["master_link_status"] == "up")
    assert f"primary, 127.0.0.1:{primary.port}" in refusal(replica.url)


def test_out_of_memory(user_redis: Start) -> None:
    theirs = user_redis("--maxmemory", "100kb")
    text = refusal(theirs.url)
    assert "102400 bytes used, policy noeviction" in text
    assert "raise maxmemory" in text


def filled(theirs: UserRedis, policy: str, name: str = "theirs", seconds: int | None = None) -> None:
    """150 kB are free of the limit: less than must stay free, and enough for some connections."""
    with theirs.client() as client:
        client.config_set("maxmemory", 40_000_000)
        client.config_set("maxmemory-policy", policy)
        stored = 0
        while client.info("memory")["used_memory"] < 39_850_000:
            with client.pipeline(transaction=False) as pipe:
                for number in range(stored, stored + 10):
                    pipe.set(f"{name}:{number}", "x" * 4000, ex=seconds)
                pipe.execute()
            stored += 10


@pytest.mark.fault(
    "your Redis is full and evicts, and holds foreign keys",
    "refused before anything is written; its connections take room there, as any client's do",
    area="data",
)
@pytest.mark.parametrize(("policy", "seconds"), [("allkeys-lru", None), ("volatile-ttl", 10_000)])
def test_a_full_cache_of_others_is_refused_before_anything_is_written(
    user_redis: Start, policy: str, seconds: int | None
) -> None:
    theirs = user_redis()
    filled(theirs, policy, seconds=seconds)
    with theirs.client() as client:
        before, keys = client.info("commandstats")["cmdstat_set"]["calls"], client.dbsize()
        text = refusal(theirs.url)
        assert f"policy {policy}" in text
        assert f"evicts keys of others ({keys:,} keys there); raise maxmemory" in text
        assert client.info("commandstats")["cmdstat_set"]["calls"] == before
        assert client.info("stats")["evicted_keys"] == 0
        assert client.dbsize() == keys


@pytest.mark.parametrize(
    ("policy", "name"), [("volatile-ttl", "theirs"), ("allkeys-lru", "loadstone:x"), ("noeviction", "theirs")]
)
def test_a_full_server_that_evicts_nothing_of_others_is_written_to(user_redis: Start, policy: str, name: str) -> None:
    theirs = user_redis()
    filled(theirs, policy, name)
    assert inspect_server(parse_url(theirs.url)).role == "master"


def test_a_full_replica_is_refused_as_what_it_is(user_redis: Start) -> None:
    primary = user_redis("--repl-diskless-sync-delay", "0")
    replica = user_redis("--replicaof", f"127.0.0.1 {primary.port}", "--maxmemory-policy", "allkeys-lru")
    with replica.client() as client, primary.client() as writer:
        writer.set("theirs", 1)
        wait_until(lambda: client.info("replication")["master_link_status"] == "up")
        client.config_set("maxmemory", 100_000)
    assert "read-only replica" in refusal(replica.url)


def test_loading(user_redis: Start) -> None:
    theirs = user_redis("--enable-debug-command", "yes")
    with theirs.client() as client, socket.create_connection(("127.0.0.1", theirs.port)) as unanswered:
        client.execute_command("DEBUG", "POPULATE", 10_000, "theirs", 1000)
        client.config_set("key-load-delay", 1000)
        client.config_set("loading-process-events-interval-bytes", 1024)
        unanswered.sendall(b"DEBUG RELOAD\r\n")
        wait_until(lambda: client.info("persistence")["loading"] == 1)
    text = refusal(theirs.url)
    assert "is loading its data (LOADING" in text
    assert "% done" in text


def test_a_node_of_a_cluster(user_redis: Start) -> None:
    assert "one node of a Redis Cluster; add --cluster" in refusal(user_redis("--cluster-enabled", "yes").url)


def test_a_database_that_does_not_exist(user_redis: Start) -> None:
    assert "no database 99" in refusal(f"{user_redis().url}/99")


def test_writes_refused_after_a_failed_snapshot(user_redis: Start) -> None:
    theirs = user_redis("--save", "3600 1000000")
    with theirs.client() as client:
        theirs.folder.chmod(0o700)
        client.set("theirs", 1)
        (theirs.folder / "dump.rdb").mkdir()
        client.bgsave()
        wait_until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err")
    assert "failed snapshot" in refusal(theirs.url)


def test_too_many_clients(user_redis: Start) -> None:
    theirs = user_redis("--maxclients", "1")
    with theirs.client() as client:
        client.ping()
        assert "accepts no more clients" in refusal(theirs.url)


def test_tls_verified_by_its_ca(user_redis: Start, debian_redis: Path, certificates: Certificates) -> None:
    theirs = tls_redis(user_redis, debian_redis, certificates, clients="no")
    assert inspect_server(parse_url(f"rediss://localhost:{theirs.port}?ca_file={certificates.ca}")).role == "master"
    named = f"rediss://127.0.0.1:{theirs.port}?ca_file={certificates.ca}&server_name=localhost"
    assert inspect_server(parse_url(named)).role == "master"
    assert inspect_server(parse_url(f"rediss://127.0.0.1:{theirs.port}?verify=no")).role == "master"


@pytest.mark.fault(
    "no TLS, or a certificate of another CA or name", "refused before user or password is sent", area="transport"
)
def test_tls_of_another_ca(user_redis: Start, debian_redis: Path, certificates: Certificates) -> None:
    theirs = tls_redis(user_redis, debian_redis, certificates, clients="no")
    for url in (
        f"rediss://localhost:{theirs.port}?ca_file={certificates.other_ca}",
        f"rediss://localhost:{theirs.port}",
        f"rediss://127.0.0.1:{theirs.port}?ca_file={certificates.ca}",
    ):
        text = refusal(url)
        assert "certificate is not accepted" in text
        assert "?ca_file=FILE" in text


def test_tls_expected(user_redis: Start, debian_redis: Path, certificates: Certificates) -> None:
    theirs = tls_redis(user_redis, debian_redis, certificates, clients="no")
    assert "write rediss:// instead of redis://" in refusal(theirs.url)


def test_tls_not_expected(user_redis: Start) -> None:
    assert "write redis:// instead of rediss://" in refusal(f"rediss://127.0.0.1:{user_redis().port}?verify=no")


def test_tls_that_wants_a_certificate_of_ours(
    user_redis: Start, debian_redis: Path, certificates: Certificates
) -> None:
    theirs = tls_redis(user_redis, debian_redis, certificates, clients="yes")
    url = f"rediss://localhost:{theirs.port}?ca_file={certificates.ca}"
    assert "?cert_file=FILE&key_file=FILE" in refusal(url)
    ours = f"{url}&cert_file={certificates.cert}&key_file={certificates.key}"
    assert inspect_server(parse_url(ours)).role == "master"


def test_a_ca_file_that_is_not_there() -> None:
    with pytest.raises(UserError, match=r"cannot use /nowhere/ca\.pem"):
        inspect_server(parse_url("rediss://localhost?ca_file=/nowhere/ca.pem"))


def test_a_server_that_stands_still_is_named_as_such(user_redis: Start) -> None:
    """SIGSTOP of a real one: it accepts, and answers nothing."""
    server = user_redis()
    with RedisControl(Endpoint(port=server.port), timeout_s=0.5) as control:
        control.ping()
        process = psutil.Process(server.pid)
        process.suspend()
        try:
            with pytest.raises(
                ServerGone, match=rf"^server 127\.0\.0\.1:{server.port}: it has not answered for 0\.5 s;"
            ):
                control.ping()
        finally:
            process.resume()
