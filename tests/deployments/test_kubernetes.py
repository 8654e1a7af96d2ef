"""The manifests for Kubernetes: by the published schemas, by what pods may do, and by what reaches what."""

import copy
from collections.abc import Iterator
from typing import Any

import kubernetes_validate
import pytest
from tests.deployments.manifests import (
    FOLDERS,
    KUBERNETES,
    Peer,
    PodTemplate,
    more_than_restricted,
    of_kind,
    passes,
    pods,
    rendered,
)
from tests.test_documented_commands import take

VERSIONS = ("1.34", "1.35", "1.36", "1.37")
"""The lines of Kubernetes that are supported or ended last."""
COMPONENT = "app.kubernetes.io/component"
LOADSTONE = "loadstone"
MONITORS = "loadstone-monitors"
SCHEDULER, AGENT, EXPERIMENT = (Peer(LOADSTONE, {COMPONENT: name}) for name in ("scheduler", "agent", "experiment"))
MONITOR = Peer(MONITORS, {COMPONENT: "monitor"})
TARGET = Peer("databases", {"loadstone/target": "true"})
NAMES = Peer("kube-system", {"k8s-app": "kube-dns"})
OTHERS = (Peer("databases", {}), Peer(LOADSTONE, {}), Peer("kube-system", {}), Peer("databases", MONITOR.labels))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_manifest_follows_the_published_schema(folder: str, version: str) -> None:
    for manifest in rendered(folder):
        kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_misspelt_field_breaks_the_schema(version: str) -> None:
    manifest = copy.deepcopy(of_kind("StatefulSet")[0])
    manifest["spec"]["template"]["spec"]["containers"][0]["readinessprobe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="readinessprobe"):
        kubernetes_validate.validate(manifest, version, strict=True)


def test_every_file_is_part_of_a_kustomization() -> None:
    known = sum(len(rendered(folder)) for folder in FOLDERS)
    written = sum(
        text.count("\nkind: ") + text.startswith("kind: ")
        for path in KUBERNETES.rglob("*.yaml")
        if path.name not in ("kustomization.yaml", "experiment.yaml")
        for text in [path.read_text()]
    )
    assert written + 1 == known  # the experiment becomes a ConfigMap


def test_the_namespace_refuses_what_is_not_restricted_and_no_pod_is_refused() -> None:
    labels = {namespace["metadata"]["name"]: namespace["metadata"]["labels"] for namespace in of_kind("Namespace")}
    levels = {name: found["pod-security.kubernetes.io/enforce"] for name, found in labels.items()}
    assert levels == {LOADSTONE: "restricted", MONITORS: "privileged"}
    assert [found for pod in pods() if pod.namespace == LOADSTONE for found in more_than_restricted(pod)] == []
    assert {pod.namespace for pod in pods()} == levels.keys()


def test_a_monitor_is_more_than_restricted_in_what_it_needs_alone() -> None:
    (monitor,) = _pods_of("monitor")
    at = "DaemonSet/loadstone-monitor: "
    found = {words.removeprefix(at).removeprefix("monitor: ") for words in more_than_restricted(monitor)}
    assert found == {"hostPID", "capabilities", "runAsNonRoot", "runAsUser"}
    assert monitor.containers[0]["securityContext"]["capabilities"]["add"] == ["DAC_READ_SEARCH", "SYS_PTRACE"]
    assert monitor.namespace == MONITORS


@pytest.mark.parametrize(
    ("place", "value", "found"),
    [
        (("hostPID",), True, "hostPID"),
        (("securityContext", "runAsNonRoot"), False, "runAsNonRoot"),
        (("securityContext", "seccompProfile"), {}, "seccompProfile"),
        (("containers", 0, "securityContext", "capabilities"), {"drop": ["ALL"], "add": ["NET_RAW"]}, "capabilities"),
        (("containers", 0, "securityContext", "allowPrivilegeEscalation"), True, "allowPrivilegeEscalation"),
        (("volumes",), [{"name": "host", "hostPath": {"path": "/"}}], "hostPath"),
    ],
)
def test_what_is_more_than_restricted_is_noticed(place: tuple[Any, ...], value: object, found: str) -> None:
    for pod in [*_pods_of("scheduler"), *_pods_of("agent"), *_pods_of("experiment")]:
        changed = pod._replace(spec=copy.deepcopy(pod.spec))
        within: Any = changed.spec
        for key in place[:-1]:
            within = within[key]
        within[place[-1]] = value
        assert any(found in words for words in more_than_restricted(changed)), pod.of


def test_no_pod_has_a_token_a_writable_root_or_no_limits() -> None:
    for pod in pods():
        assert pod.spec["automountServiceAccountToken"] is False, pod.of
        for container in pod.containers:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True, pod.of
            for kind in ("requests", "limits"):
                assert {"cpu", "memory"} <= container["resources"][kind].keys(), pod.of
        accounts = [account["metadata"]["name"] for account in of_kind("ServiceAccount")]
        assert pod.spec["serviceAccountName"] in accounts
    assert all(account["automountServiceAccountToken"] is False for account in of_kind("ServiceAccount"))


def test_an_agent_may_have_whole_cpus_for_itself() -> None:
    (agent,) = _pods_of("agent")
    for container in agent.containers:
        resources = container["resources"]
        assert resources["requests"] == resources["limits"]
        assert str(resources["limits"]["cpu"]).isdecimal()


def test_an_experiment_runs_once() -> None:
    (job,) = of_kind("Job")
    assert job["spec"]["backoffLimit"] == 0
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"


def test_the_experiment_waits_for_all_agents() -> None:
    (agents,) = of_kind("StatefulSet")
    (experiment,) = _pods_of("experiment")
    assert (
        f"--fleet=tls://loadstone-scheduler:8786?agents={agents['spec']['replicas']}"
        in experiment.containers[0]["args"]
    )


def test_selectors_find_their_pods() -> None:
    for manifest in of_kind("Deployment", "StatefulSet", "DaemonSet"):
        labels = manifest["spec"]["template"]["metadata"]["labels"]
        assert manifest["spec"]["selector"]["matchLabels"].items() <= labels.items()
    for service in of_kind("Service"):
        found = [pod for pod in pods() if service["spec"]["selector"].items() <= pod.labels.items()]
        assert [pod.of.partition("/")[2] for pod in found] == [service["metadata"]["name"]]
        (port,) = service["spec"]["ports"]
        assert port["port"] in [named["containerPort"] for named in found[0].containers[0]["ports"]]
    (agents,) = of_kind("StatefulSet")
    assert agents["spec"]["serviceName"] in [service["metadata"]["name"] for service in of_kind("Service")]


def test_network_policies_let_through_what_a_fleet_needs_and_nothing_else() -> None:
    policies = of_kind("NetworkPolicy")
    own = (SCHEDULER, AGENT, EXPERIMENT, MONITOR)
    through = {
        (_key(source), _key(target), port)
        for source in (*own, TARGET, *OTHERS)
        for target in (*own, TARGET, *OTHERS)
        for port in (53, 6379, 8786, 8787)
        if source != target and passes(policies, source, target, port)
    }
    of_others = {(_key(a), _key(b)) for a in (TARGET, *OTHERS) for b in (TARGET, *OTHERS)}  # they are not ours to limit
    assert {way for way in through if way[:2] not in of_others} == {
        (_key(AGENT), _key(SCHEDULER), 8786),
        (_key(EXPERIMENT), _key(SCHEDULER), 8786),
        (_key(MONITOR), _key(SCHEDULER), 8786),
        (_key(SCHEDULER), _key(AGENT), 8787),
        (_key(SCHEDULER), _key(MONITOR), 8787),
        *((_key(source), _key(TARGET), port) for source in (AGENT, EXPERIMENT) for port in (53, 6379, 8786, 8787)),
    }


def test_every_pod_finds_names() -> None:
    policies = of_kind("NetworkPolicy")
    for pod in (SCHEDULER, AGENT, EXPERIMENT, MONITOR):
        assert passes(policies, pod, NAMES, 53, "UDP")
        assert passes(policies, pod, NAMES, 53, "TCP")
        assert not passes(policies, pod, NAMES, 80)


def test_secrets_stand_in_no_manifest() -> None:
    assert not of_kind("Secret")
    for container in (container for pod in pods() for container in pod.containers):
        for variable in container.get("env", []):
            assert "PASSWORD" not in variable["name"] or variable["valueFrom"]["secretKeyRef"]


@pytest.mark.whole
def test_the_command_line_takes_what_containers_are_given() -> None:
    for pod in pods():
        for container in pod.containers:
            take(
                [
                    word.replace("$(POD_NAME)", "agent-0")
                    .replace("$(POD_IP)", "10.0.0.1")
                    .replace("$(NODE_NAME)", "node-1")
                    for word in container["args"]
                ]
            )


def test_parts_name_the_ports_that_they_listen_on() -> None:
    for pod in pods():
        for container in pod.containers:
            listening = [word for word in container["args"] if word.startswith("--listen=")]
            ports = [str(port["containerPort"]) for port in container.get("ports", [])]
            assert [word.rpartition(":")[2] for word in listening] == ports, pod.of


def test_all_parts_are_of_one_image() -> None:
    assert len({container["image"] for pod in pods() for container in pod.containers}) == 1


def _pods_of(component: str) -> Iterator[PodTemplate]:
    return (pod for pod in pods() if pod.labels[COMPONENT] == component)


def _key(peer: Peer) -> tuple[str, str]:
    return (peer.namespace, ",".join(f"{name}={value}" for name, value in sorted(peer.labels.items())))
