"""The cluster on a real scheduler and real agents of this machine."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from loadstone.addons.fleet import certificates, clocks, cluster_seam
from loadstone.addons.fleet import dask_cluster as cluster
from loadstone.addons.fleet.cluster_seam import AgentFailed, AgentLost
from loadstone.addons.fleet.dask_cluster import DaskCluster, open_cluster
from loadstone.addons.fleet.doctor import answer_nothing, examined, facts_here
from loadstone.addons.fleet.identity import own_identity
from loadstone.addons.fleet.serving import ping
from loadstone.addons.fleet.spec import read_fleet
from loadstone.machine.ports import free_port
from loadstone.safety.errors import Interrupted, UserError

from .local_fleets import await_true, certified, done, line_of, listening, loadstone, local_fleet, runs

SECRET = "s3cret-of-a-server"


@pytest.fixture(scope="module")
def fleet() -> Iterator[DaskCluster]:
    with local_fleet(2) as cluster:
        yield cluster


def test_its_members(fleet: DaskCluster) -> None:
    assert [(member.name, member.role) for member in fleet.members] == [("agent-1", "agent"), ("agent-2", "agent")]
    assert all(member.address.startswith("tls://127.0.0.1:") for member in fleet.members)
    assert fleet.lost() == {}
    pids = {fleet.identities[member.name].pid for member in fleet.members}
    assert len(pids) == 2
    assert os.getpid() not in pids


def test_a_call_is_of_that_member(fleet: DaskCluster) -> None:
    for member in fleet.members:
        there = fleet.call(member, own_identity, "agent", timeout_s=10)
        assert there.pid == fleet.identities[member.name].pid


def test_what_is_no_function_of_a_module_is_not_sent(fleet: DaskCluster) -> None:
    for function in (lambda: 1, os.getpid, fleet.lost, Path.exists):
        with pytest.raises(TypeError, match="only functions on the level of a module of loadstone"):
            fleet.call(fleet.members[0], function, timeout_s=1)


def test_an_error_there_is_its_own_words(fleet: DaskCluster) -> None:
    with pytest.raises(AgentFailed, match=r"^agent agent-2: TypeError: .*missing 2 required positional arguments"):
        fleet.call(fleet.members[1], clocks.disagreement_ns, timeout_s=10)
    with pytest.raises(AgentFailed, match=r"^agent agent-2: .*command\.pem is not there"):
        fleet.call(fleet.members[1], certificates.read, Path("/nowhere"), "command", timeout_s=10)


def test_calls_go_side_by_side_from_any_thread(fleet: DaskCluster) -> None:
    answers: list[bool] = []

    def ask(at: int) -> None:
        answers.append(fleet.call(fleet.members[at % 2], ping, timeout_s=20))

    threads = [threading.Thread(target=ask, args=[at]) for at in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert answers == [True] * 40


def test_what_is_said_is_heard_in_its_order(fleet: DaskCluster) -> None:
    heard: dict[str, list[object]] = {}
    fleet.listen("numbers", lambda name, message: heard.setdefault(name, []).append(message))
    fleet.listen("others", lambda *_: pytest.fail("another topic"))
    for number in range(200):
        for member in fleet.members:
            fleet.send(member, cluster_seam.say, "numbers", {"n": number, "text": "é"})
    await_true(lambda: all(len(heard.get(member.name, [])) == 200 for member in fleet.members), str(heard.keys()))
    assert heard == {member.name: [{"n": n, "text": "é"} for n in range(200)] for member in fleet.members}


def test_what_is_sent_to_all_reaches_each_and_one_that_stands_still_holds_up_none(fleet: DaskCluster) -> None:
    heard: dict[str, list[object]] = {}
    fleet.listen("all", lambda name, message: heard.setdefault(name, []).append(message))
    fleet.send_all(fleet.members, cluster_seam.say, "all", 0)
    await_true(lambda: heard == {member.name: [0] for member in fleet.members}, str(heard))
    still = psutil.Process(fleet.identities["agent-2"].pid)
    still.suspend()
    try:
        for number in range(1, 6):
            fleet.send_all(fleet.members, cluster_seam.say, "all", number)
        await_true(lambda: len(heard["agent-1"]) == 6, str(heard), within_s=2)
        assert heard["agent-2"] == [0]
    finally:
        still.resume()
    await_true(lambda: sorted(map(str, heard["agent-2"])) == list("012345"), str(heard))


def test_what_is_sent_and_fails_there_disturbs_nothing(fleet: DaskCluster) -> None:
    fleet.send(fleet.members[0], clocks.disagreement_ns)
    assert fleet.call(fleet.members[0], ping, timeout_s=10)


def test_the_truth_of_clocks_of_one_machine_is_within_the_bound(fleet: DaskCluster) -> None:
    """Processes of one machine have one clock: the offset is 0."""
    for member in fleet.members:
        for _ in range(25):
            offset = clocks.measure_clock_offset(fleet, member, exchanges=5).offset
            assert abs(offset.offset_ns) <= offset.bound_ns


@pytest.mark.fault(
    "a call with a password fails on an agent",
    "the password is in no log, command line, variable, event or file there",
    area="fleet",
)
def test_no_secret_reaches_a_log_a_command_line_or_a_topic(fleet: DaskCluster) -> None:
    member = fleet.members[0]
    fleet.call(member, answer_nothing, SECRET, timeout_s=10)
    with pytest.raises(AgentFailed):  # Dask logs the arguments of what fails
        fleet.call(member, answer_nothing, SECRET, SECRET, timeout_s=10)
    asked = fleet._run(_dask_remembers(fleet)).result(10)
    assert SECRET not in asked
    for process in psutil.Process().children(recursive=True):
        for file in ("cmdline", "environ"):
            assert SECRET.encode() not in Path(f"/proc/{process.pid}/{file}").read_bytes()
            assert b"PRIVATE KEY" not in Path(f"/proc/{process.pid}/{file}").read_bytes()
    for folder in Path(tempfile.gettempdir()).glob("loadstone-fleet*"):
        written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
        assert SECRET.encode() not in written
        assert b"PRIVATE KEY" not in written


async def _dask_remembers(fleet: DaskCluster) -> str:
    """Dask's logs and events of the scheduler and all workers."""
    client = fleet._client
    logs = await client.get_scheduler_logs(), await client.get_worker_logs(), await client.scheduler.events()
    return repr(logs)


@pytest.mark.fault("two commands want one agent", "the second one is refused, and told who has it", area="fleet")
def test_a_second_command_does_not_get_agents_in_use(tmp_path: Path) -> None:
    """And another one gets them once the first is done with them."""
    environment = {certificates.FOLDER_VARIABLE: str(tmp_path / "them")}
    with loadstone("fleet", "up", "local:1", "--listen", "127.0.0.1:0", environment=environment) as up:
        assert up.stdout is not None
        up.stdout.readline()
        spec = read_fleet(up.stdout.readline().split("--fleet ")[1].strip())
        first = open_cluster(spec, folder=tmp_path / "them")
        with pytest.raises(UserError, match=rf"agent agent-1: in use by .*process {os.getpid()}; wait until"):
            open_cluster(spec, folder=tmp_path / "them")
        seen = open_cluster(spec, folder=tmp_path / "them", claim=False)
        assert [member.name for member in seen.members] == ["agent-1"]
        seen.close()
        first.close()
        open_cluster(spec, folder=tmp_path / "them").close()


def test_an_agent_that_stands_still_answers_no_call_and_later_does(fleet: DaskCluster) -> None:
    process = psutil.Process(fleet.identities["agent-2"].pid)
    process.suspend()
    try:
        begin = time.monotonic()
        with pytest.raises(AgentLost, match=r"^agent agent-2: it did not answer within 1 s$"):
            fleet.call(fleet.members[1], ping, timeout_s=1)
        assert time.monotonic() - begin < 5
        assert fleet.call(fleet.members[0], ping, timeout_s=10)
    finally:
        process.resume()
    assert fleet.call(fleet.members[1], ping, timeout_s=10)


@pytest.mark.fault("an agent is killed", "it is lost at once, with the reason; the others answer", area="fleet")
def test_a_killed_agent_is_known_at_once_with_how_and_who_calls_it_gets_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it made goes with the fleet, as that of an agent that is killed because it is slow to end."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with local_fleet(2) as fleet:
        assert len(list(tmp_path.iterdir())) == 3, "a folder for the scheduler, and one for each agent"
        first = fleet.identities["agent-1"].pid
        os.kill(first, signal.SIGKILL)
        await_true(fleet.lost, "lost", 3)
        assert {name: str(why) for name, why in fleet.lost().items()} == {"agent-1": "its process ended (signal 9)"}
        assert fleet.call(fleet.members[1], ping, timeout_s=10)
        assert [member.name for member in fleet.members] == ["agent-1", "agent-2"]
        time.sleep(1.5)
        assert fleet.lost(), "nobody called it"
        with pytest.raises(AgentLost, match=r"^agent agent-1: its process ended \(signal 9\)$"):
            fleet.call(fleet.members[0], ping, timeout_s=1)
        await_true(lambda: not fleet.lost(), "it is back", 20)
        assert fleet.call(fleet.members[0], ping, timeout_s=10)
        assert fleet.identities["agent-1"].pid not in (first, os.getpid())
    assert list(tmp_path.iterdir()) == []


def _schedulers() -> set[psutil.Process]:
    """Those of all fleets of this process's tests."""
    return {process for process in psutil.Process().children(recursive=True) if "scheduler" in process.cmdline()}


@pytest.mark.fault("a fleet's scheduler is killed", "all agents are lost, and the reason names it", area="fleet")
def test_without_its_scheduler_all_are_lost() -> None:
    others = _schedulers()
    with local_fleet(2) as fleet:
        (scheduler,) = _schedulers() - others
        scheduler.kill()
        await_true(lambda: len(fleet.lost()) == 2, "all lost", 5)
        assert set(map(str, fleet.lost().values())) == {"the fleet's scheduler is gone: its process ended (signal 9)"}
        with pytest.raises(AgentLost):
            fleet.call(fleet.members[0], ping, timeout_s=5)


@pytest.mark.fault(
    "a command with agents of its own is killed", "none of them is left, nor their folders", area="fleet"
)
def test_nothing_is_left_of_a_command_that_is_killed(tmp_path: Path) -> None:
    """Also of an agent that stands still."""
    script = (
        "import time\nfrom loadstone.addons.fleet.dask_cluster import open_cluster\n"
        "from loadstone.addons.fleet.spec import read_fleet\n"
        "cluster = open_cluster(read_fleet('local:2'))\nprint(cluster.identities['agent-1'].pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    command = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert command.stdout is not None
    with command, command.stdout:
        stopped = int(command.stdout.readline())
        started = psutil.Process(command.pid).children(recursive=True)
        assert len(started) == 6  # a guard for each of the scheduler and two agents
        psutil.Process(stopped).suspend()
        command.kill()
        command.wait()
        await_true(lambda: not any(map(runs, started)), "all ended")
    await_true(lambda: not list(tmp_path.glob("loadstone-*")), "folders removed")


@pytest.mark.fault(
    "an agent of another version", "refused before it is sent anything, with both versions", area="fleet"
)
def test_an_agent_of_another_version_gets_nothing(tmp_path: Path) -> None:
    environment = certified(tmp_path / "them")
    with loadstone("fleet", "scheduler", "--listen", "127.0.0.1:0", environment=environment) as scheduler:
        assert scheduler.stderr is not None
        address = scheduler.stderr.readline().split("scheduler: ")[1].strip()
        old = "import loadstone; loadstone.__version__ = '0.0.9'; from loadstone.cli.main import main; main()"
        agent = subprocess.Popen(
            [sys.executable, "-c", old, "fleet", "agent", address, "--name", "old"],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        with agent:
            assert agent.stderr is not None
            try:
                while "joined" not in agent.stderr.readline():
                    pass
                with pytest.raises(UserError, match=r"old has loadstone 0\.0\.9 there, .*Install the same loadstone"):
                    open_cluster(read_fleet(address), folder=tmp_path / "them")
            finally:
                agent.terminate()


def test_no_scheduler_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 1.0)
    certificates.write(tmp_path / "them", certificates.made())
    with pytest.raises(UserError, match=r"--fleet tls://127\.0\.0\.1:1: no scheduler of this fleet answers there"):
        open_cluster(read_fleet("tls://127.0.0.1:1"), folder=tmp_path / "them")


@pytest.mark.fault("a fleet's scheduler restarts", "agents and command join it again", area="fleet")
def test_an_agent_joins_again_when_its_scheduler_restarts(tmp_path: Path) -> None:
    """And the command finds both again."""
    environment = certified(tmp_path / "them")
    with loadstone("fleet", "scheduler", "--listen", "127.0.0.1:0", environment=environment) as first:
        assert first.stderr is not None
        address = first.stderr.readline().split("scheduler: ")[1].strip()
        with loadstone("fleet", "agent", address, "--name", "one", environment=environment) as agent:
            assert agent.stderr is not None
            while "joined" not in agent.stderr.readline():
                pass
            fleet = open_cluster(read_fleet(address), folder=tmp_path / "them")
            heard: list[object] = []
            fleet.listen("t", lambda _, message: heard.append(message))
            try:
                first.kill()
                await_true(fleet.lost, "lost", 5)
                assert {name: str(why) for name, why in fleet.lost().items()} == {
                    "one": "the connection to the scheduler was lost"
                }
                listen = address.removeprefix("tls://")
                with loadstone("fleet", "scheduler", "--listen", listen, environment=environment):
                    await_true(lambda: not fleet.lost(), "found again", 20)
                    assert fleet.call(fleet.members[0], ping, timeout_s=10)
                    fleet.send(fleet.members[0], cluster_seam.say, "t", "again")
                    await_true(lambda: heard == ["again"], str(heard))
            finally:
                fleet.close()


def test_as_many_agents_as_are_named_are_waited_for_and_the_scheduler_too(tmp_path: Path) -> None:
    """As in a cluster that starts all at once. A monitor is no agent."""
    environment = certified(tmp_path / "them")
    address = f"tls://127.0.0.1:{free_port()}"
    opened: list[DaskCluster] = []

    def open_it() -> None:
        opened.append(open_cluster(read_fleet(f"{address}?agents=2"), folder=tmp_path / "them"))

    opening = threading.Thread(target=open_it)
    opening.start()
    time.sleep(0.5)
    with contextlib.ExitStack() as held:
        listen = address.removeprefix("tls://")
        held.enter_context(loadstone("fleet", "scheduler", "--listen", listen, environment=environment))
        for name, role in (("one", "agent"), ("beside", "monitor")):
            words = ("fleet", "agent", address, "--name", name, "--role", role)
            member = held.enter_context(loadstone(*words, environment=environment))
            assert member.stderr is not None
            while "joined" not in member.stderr.readline():
                pass
        time.sleep(1.5)
        assert opened == []
        held.enter_context(loadstone("fleet", "agent", address, "--name", "two", environment=environment))
        opening.join(30)
        (fleet,) = opened
        try:
            roles = {member.name: member.role for member in fleet.members}
            assert roles == {"one": "agent", "two": "agent", "beside": "monitor"}
        finally:
            fleet.close()


def test_without_an_address_an_agent_listens_where_it_reaches_its_scheduler(tmp_path: Path) -> None:
    environment = certified(tmp_path / "them")
    words = ("fleet", "scheduler", "--listen", "127.0.0.1:0")
    with loadstone(*words, environment=environment) as scheduler:
        address = line_of(scheduler, "scheduler: ").split("scheduler: ")[1].strip()
        with loadstone("fleet", "agent", address, "--name", "one", environment=environment) as agent:
            line_of(agent, "joined")
            assert {host for host, _ in listening(agent.pid)} == {"127.0.0.1"}


def test_a_scheduler_at_a_port_in_use_says_so(tmp_path: Path) -> None:
    certificates.write(tmp_path / "them", certificates.made())
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        found = done(
            "fleet", "scheduler", "--listen", listen,
            environment={certificates.FOLDER_VARIABLE: str(tmp_path / "them")},
        )  # fmt: skip
    assert found.returncode == 2
    (line,) = found.stderr.splitlines()
    assert f"fleet scheduler {listen}: cannot listen there: " in line
    assert "in use" in line


@pytest.mark.parametrize("host", ["[::1]", "[127.0.0.1]"])
def test_members_meet_at_addresses_of_either_version(tmp_path: Path, host: str) -> None:
    """In brackets, as a pod is told its own, of whichever version it is."""
    environment = certified(tmp_path / "them")
    with contextlib.ExitStack() as held:
        words = ("fleet", "scheduler", "--listen", f"{host}:{free_port()}")
        scheduler = held.enter_context(loadstone(*words, environment=environment))
        address = line_of(scheduler, "scheduler: ").split("scheduler: ")[1].strip()
        words = ("fleet", "agent", address, "--name", "one", "--listen", f"{host}:{free_port()}")
        held.enter_context(loadstone(*words, environment=environment))
        fleet = open_cluster(read_fleet(f"{address}?agents=1"), folder=tmp_path / "them")
        try:
            assert fleet.call(fleet.members[0], ping, timeout_s=10)
        finally:
            fleet.close()


def test_too_few_agents_are_told_with_their_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadstone.addons.fleet.dask_cluster.NAMED_S", 3.0)
    environment = certified(tmp_path / "them")
    with loadstone("fleet", "scheduler", "--listen", "127.0.0.1:0", environment=environment) as scheduler:
        assert scheduler.stderr is not None
        address = scheduler.stderr.readline().split("scheduler: ")[1].strip()
        with pytest.raises(UserError, match=r"0 of 4 agents are there; start more: loadstone fleet agent tls://127"):
            open_cluster(read_fleet(f"{address}?agents=4"), folder=tmp_path / "them")
        with pytest.raises(Interrupted, match="before anything was measured"):
            open_cluster(read_fleet(f"{address}?agents=4"), folder=tmp_path / "them", stopped=lambda: True)
        down = done("fleet", "down", address, environment=environment)
        assert (down.returncode, down.stdout) == (0, "ended: the scheduler and 0 members\n")
        assert scheduler.wait(10) == 0


def test_a_user_without_a_name_has_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that was given a number alone."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: (_ for _ in ()).throw(KeyError(uid)))
    assert cluster._user() == f"user {os.geteuid()}"


def test_what_doctor_asks_of_a_member(fleet: DaskCluster) -> None:
    found = {fact.name: fact for fact in examined(fleet, fleet.members[0])}
    assert {"CPUs", "round trip", "bandwidth to it", "clock", "user"} <= set(found)
    assert str(found["clock"].value).startswith("beginnings known to ± ")
    assert found["round trip"].verdict == "ok"
    assert {one["name"] for one in facts_here()} <= set(found)


def test_commands_for_a_fleet_that_is_there(tmp_path: Path) -> None:
    environment = {certificates.FOLDER_VARIABLE: str(tmp_path / "them")}
    with loadstone("fleet", "up", "local:2", "--listen", "127.0.0.1:0", environment=environment) as up:
        assert up.stdout is not None
        assert up.stdout.readline() == "2 agents: agent-1, agent-2\n"
        address = up.stdout.readline().split("--fleet ")[1].strip()
        status = done("fleet", "status", address, environment=environment)
        assert [line.split()[:2] for line in status.stdout.splitlines()] == [["agent-1", "agent"], ["agent-2", "agent"]]
        doctor = done("fleet", "doctor", address, environment=environment)
        assert doctor.stdout.count("round trip") == 2
        down = done("fleet", "down", address, environment=environment)
        assert (down.returncode, down.stdout) == (0, "ended: the scheduler and 2 members\n")
        up.wait(20)
        assert up.returncode == 3
        assert up.stderr is not None
        assert "no agent is left" in up.stderr.read()
