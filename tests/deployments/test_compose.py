"""The fleet in containers on one machine: what Compose makes of its file."""

import subprocess
from functools import cache
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose
from tests.deployments.manifests import ROOT, program
from tests.test_documented_commands import take

FILE = ROOT / "deployments" / "compose" / "compose.yaml"


@cache
def resolved() -> str:
    """With its anchors and variables filled in, as Compose reads it."""
    command = [program("podman-compose"), "--profile", "experiment", "--file", str(FILE), "config"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def parts() -> dict[str, dict[str, Any]]:
    """Our own containers, by their names; the server is any image."""
    services: dict[str, dict[str, Any]] = yaml.safe_load(resolved())["services"]
    return {name: service for name, service in services.items() if name != "redis"}


def test_the_file_follows_the_specification() -> None:
    assert set(PyCompose.from_yaml(resolved()).service_names()) == {*parts(), "redis"}


@pytest.mark.parametrize(("right", "wrong"), [("cap_drop", "cap_dropp"), ("mem_limit: 1g", "mem_limit: much")])
def test_what_does_not_follow_it_is_refused(right: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong.split()[-1]):
        PyCompose.from_yaml(resolved().replace(right, wrong))


def test_every_part_is_an_ordinary_user_without_capabilities() -> None:
    for name, part in parts().items():
        assert part["read_only"] is True, name
        assert part["cap_drop"] == ["ALL"], name
        assert part["security_opt"] == ["no-new-privileges:true"], name
        assert not part["user"].startswith("0"), name
        assert "ports" not in part, name


def test_no_network_leads_outside() -> None:
    networks = yaml.safe_load(resolved())["networks"]
    assert [network["internal"] for network in networks.values()] == [True, True]
    services = yaml.safe_load(resolved())["services"]
    assert services["scheduler"]["networks"] == ["fleet"]
    assert services["redis"]["networks"] == ["load"]


def test_a_part_has_its_own_certificate_alone() -> None:
    for name, part in parts().items():
        role = {"experiment": "command"}.get(name, name.partition("-")[0])
        mounted = {
            volume.split(":")[1] for volume in part["volumes"] if volume.split(":")[1].startswith("/certificates")
        }
        assert mounted == {"/certificates/ca.pem", f"/certificates/{role}.pem"}, name


@pytest.mark.whole
def test_the_command_line_takes_what_containers_are_given() -> None:
    for part in parts().values():
        take(part["command"])


def test_the_experiment_waits_for_all_agents() -> None:
    agents = [name for name in parts() if name.startswith("agent-")]
    assert f"--fleet=tls://scheduler:8786?agents={len(agents)}" in parts()["experiment"]["command"]
