"""The manifests of `deployments/kubernetes` as kustomize renders them, and what they let pods do."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
KUBERNETES = ROOT / "deployments" / "kubernetes"
FOLDERS = ("fleet", "experiment", "monitors")
Manifest = dict[str, Any]


def program(name: str) -> str:
    """A program of the development requirements."""
    found = shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    assert found is not None, f"{name} is missing: make setup-dev installs it"
    return found


@cache
def rendered(folder: str) -> tuple[Manifest, ...]:
    """All that `kubectl apply --kustomize` would send."""
    command = [program("kubectl"), "kustomize", str(KUBERNETES / folder)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return tuple(yaml.safe_load_all(text))


def everything() -> list[Manifest]:
    return [manifest for folder in FOLDERS for manifest in rendered(folder)]


def of_kind(*kinds: str) -> list[Manifest]:
    return [manifest for manifest in everything() if manifest["kind"] in kinds]


class PodTemplate(NamedTuple):
    """Pods that a manifest makes."""

    of: str
    namespace: str
    labels: Mapping[str, str]
    spec: Manifest

    @property
    def containers(self) -> list[Manifest]:
        return [*self.spec.get("initContainers", []), *self.spec["containers"]]


def pods(manifests: Sequence[Manifest] | None = None) -> list[PodTemplate]:
    """Of all manifests that make pods."""
    return [
        PodTemplate(
            f"{manifest['kind']}/{manifest['metadata']['name']}",
            manifest["metadata"]["namespace"],
            manifest["spec"]["template"]["metadata"]["labels"],
            manifest["spec"]["template"]["spec"],
        )
        for manifest in (everything() if manifests is None else manifests)
        if "template" in manifest.get("spec", {})
    ]


def more_than_restricted(pod: PodTemplate) -> Iterator[str]:
    """What the Pod Security Standard `restricted` (Kubernetes 1.37) refuses of a pod."""
    whole, at = pod.spec.get("securityContext", {}), pod.of
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.spec.get(field):
            yield f"{at}: {field}"
    for volume in pod.spec.get("volumes", []):
        kind = next(key for key in volume if key != "name")
        if kind not in (
            "configMap",
            "downwardAPI",
            "emptyDir",
            "ephemeral",
            "persistentVolumeClaim",
            "projected",
            "secret",
        ):
            yield f"{at}: a volume of the kind {kind}"
    for sysctl in whole.get("sysctls", []):
        if sysctl["name"] not in SAFE_SYSCTLS:
            yield f"{at}: sysctl {sysctl['name']}"
    for container in pod.containers:
        own, name = container.get("securityContext", {}), f"{at}: {container['name']}"
        capabilities = own.get("capabilities", {})
        if own.get("allowPrivilegeEscalation") is not False:
            yield f"{name}: allowPrivilegeEscalation"
        if "ALL" not in capabilities.get("drop", []) or set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}:
            yield f"{name}: capabilities"
        if own.get("runAsNonRoot", whole.get("runAsNonRoot")) is not True:
            yield f"{name}: runAsNonRoot"
        if own.get("runAsUser", whole.get("runAsUser")) == 0:
            yield f"{name}: runAsUser"
        if own.get("privileged"):
            yield f"{name}: privileged"
        profile = own.get("seccompProfile", whole.get("seccompProfile", {})).get("type")
        if profile not in ("RuntimeDefault", "Localhost"):
            yield f"{name}: seccompProfile"
        if any("hostPort" in port for port in container.get("ports", [])):
            yield f"{name}: hostPort"


SAFE_SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
)


class Peer(NamedTuple):
    """A pod as network policies see it."""

    namespace: str
    labels: Mapping[str, str]


def selected(selector: Manifest, labels: Mapping[str, str]) -> bool:
    """Whether a label selector takes these labels. The empty one takes all."""
    for key, value in selector.get("matchLabels", {}).items():
        if labels.get(key) != value:
            return False
    for term in selector.get("matchExpressions", []):
        assert term["operator"] == "In", "the tests know of no other operator"
        if labels.get(term["key"]) not in term["values"]:
            return False
    return True


def passes(policies: Sequence[Manifest], source: Peer, target: Peer, port: int, protocol: str = "TCP") -> bool:
    """Whether network policies let a connection through: out of the one and into the other."""
    return _allowed(policies, "Egress", source, target, port, protocol) and _allowed(
        policies, "Ingress", target, source, port, protocol
    )


def _allowed(policies: Sequence[Manifest], way: str, pod: Peer, other: Peer, port: int, protocol: str) -> bool:
    """A pod that no policy selects is free; else one of its policies must allow the other end."""
    of_pod = [
        policy["spec"]
        for policy in policies
        if policy["metadata"]["namespace"] == pod.namespace
        and way in policy["spec"]["policyTypes"]
        and selected(policy["spec"]["podSelector"], pod.labels)
    ]
    rules = [rule for spec in of_pod for rule in spec.get(way.lower(), [])]
    end = "to" if way == "Egress" else "from"
    return not of_pod or any(
        any(_is_peer(peer, pod.namespace, other) for peer in rule[end])
        and ("ports" not in rule or {"protocol": protocol, "port": port} in rule["ports"])
        for rule in rules
    )


def _is_peer(peer: Manifest, own_namespace: str, other: Peer) -> bool:
    assert "ipBlock" not in peer, "the tests know of no addresses"
    if "namespaceSelector" in peer:
        in_namespace = selected(peer["namespaceSelector"], {"kubernetes.io/metadata.name": other.namespace})
    else:
        in_namespace = other.namespace == own_namespace
    return in_namespace and selected(peer.get("podSelector", {}), other.labels)
