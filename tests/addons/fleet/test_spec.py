"""How a fleet is named."""

from pathlib import Path

import pytest

from loadstone.addons.fleet.spec import AGENTS_MAX, PORT, FleetSpec, SshHost, read_fleet
from loadstone.safety.errors import UserError


def test_agents_of_this_machine() -> None:
    assert read_fleet("local:4") == FleetSpec("local:4", "local", agents=4)


def test_hosts_that_are_logged_in_to() -> None:
    spec = read_fleet("ssh:gen-1,load@10.0.0.7:2222, [fe80::1]:22")
    assert spec.hosts == (SshHost("gen-1"), SshHost("10.0.0.7", "load", 2222), SshHost("fe80::1", None, 22))
    assert spec.agents == 3


def test_hosts_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# the generators\ngen-1\n\nload@gen-2:2222  # a new one\ngen-1\n")
    spec = read_fleet(f"ssh:@{file}")
    assert spec.hosts == (SshHost("gen-1"), SshHost("gen-2", "load", 2222), SshHost("gen-1"))


def test_a_scheduler_that_is_there() -> None:
    assert read_fleet("tls://scheduler.example:9000").address == ("scheduler.example", 9000)
    assert read_fleet("tls://[fd00::2]").address == ("fd00::2", PORT)
    assert read_fleet("tls://scheduler.example:9000").agents is None
    four = read_fleet("tls://scheduler.example?agents=4")
    assert (four.address, four.agents) == (("scheduler.example", PORT), 4)


WRONG = {
    "4": "not a fleet",
    "local": "not a fleet",
    "tcp://scheduler:8786": "not a fleet",
    "ssh://host": "not a fleet",
    "local:": "number of agents",
    "local:0": "number of agents",
    "local:-1": "number of agents",
    "local:2.5": "number of agents",
    "local:٣": "number of agents",
    f"local:{AGENTS_MAX + 1}": "number of agents",
    "local:99999999999999999999": "number of agents",
    "ssh:": "'' is not a host",
    "ssh:gen-1,,gen-2": "'' is not a host",
    "ssh:-oProxyCommand=x": "'-oProxyCommand=x' is not a host",
    "ssh:gen-1,-oProxyCommand=x": "'-oProxyCommand=x' is not a host",
    "ssh:-l@gen-1": "'-l@gen-1' is not a host",
    "ssh:gen 1": "'gen 1' is not a host",
    "ssh:$(reboot)": "is not a host",
    "ssh:gen-1:70000": "70000 is not a port",
    "ssh:@/nowhere/at/all": "cannot be read (No such file or directory)",
    "tls://": "not the address of a scheduler",
    "tls://host:0": "0 is not a port",
    "tls://host:port": "not the address of a scheduler",
    "tls://host:1/path": "not the address of a scheduler",
    "tls://host:1?": "number of agents",
    "tls://host:1?agents=0": "number of agents",
    "tls://host:1?agents=four": "number of agents",
    f"tls://host:1?agents={AGENTS_MAX + 1}": "number of agents",
    "tls://host:1?members=4": "number of agents",
    "tls://?agents=4": "not the address of a scheduler",
}


@pytest.mark.parametrize("word", WRONG)
def test_what_names_no_fleet_is_refused_in_one_line(word: str) -> None:
    with pytest.raises(UserError) as refused:
        read_fleet(word)
    message = str(refused.value)
    assert message.startswith(f"--fleet {word}: ")
    assert WRONG[word] in message
    assert "\n" not in message


def test_a_file_without_hosts_is_refused(tmp_path: Path) -> None:
    for name, content in {"empty": b"# nobody\n", "binary": b"\xff\xfe\x00"}.items():
        file = tmp_path / name
        file.write_bytes(content)
        with pytest.raises(UserError, match="on each line"):
            read_fleet(f"ssh:@{file}")


def test_too_many_hosts_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("gen\n" * (AGENTS_MAX + 1))
    with pytest.raises(UserError, match=f"name at most {AGENTS_MAX}"):
        read_fleet(f"ssh:@{file}")
