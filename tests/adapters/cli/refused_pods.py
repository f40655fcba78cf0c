"""Pods that go nowhere, each for a reason that is known, and the cluster in which they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from tests.scenarios.manifests import Manifest, changed, deployment, need
from treenail.domain.reasons import Reason

ZONE: Final = "topology.kubernetes.io/zone"
WAY: Final = "karpenter.sh/capacity-type"
ARCH: Final = "kubernetes.io/arch"
OS: Final = "kubernetes.io/os"
BUILD: Final = "node.kubernetes.io/windows-build"
TYPE: Final = "node.kubernetes.io/instance-type"
HOST: Final = "kubernetes.io/hostname"
CPU: Final = "karpenter.kwok.sh/instance-cpu"
FAMILY: Final = "karpenter.kwok.sh/instance-family"
GPU: Final = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class Case:
    """Manifests of which some pods go nowhere.

    `reason` is the nearest one, `about` what it is about where that is looked at. `curable` says that a
    change of a pod or a pool would help; none does where what is missing is not in their manifests.
    """

    name: str
    reason: Reason
    manifests: tuple[Manifest, ...]
    about: str = ""
    curable: bool = True


# --- a small catalogue

_EVERYWHERE: Final = tuple(product(("a", "b", "c"), ("spot", "on-demand")))


def _type(
    name: str,
    cpu: int,
    memory: int,
    *,
    arch: str = "amd64",
    system: str = "linux",
    sold: Sequence[tuple[str, str]] = _EVERYWHERE,
    available: bool = True,
    more: Mapping[str, str] | None = None,
) -> dict[str, object]:
    return {
        "name": name,
        "architecture": arch,
        "operatingSystems": [system],
        "resources": {
            "cpu": str(cpu),
            "memory": f"{memory}Gi",
            "ephemeral-storage": "20Gi",
            "pods": "32",
            **(more or {}),
        },
        "offerings": [
            {
                "Price": cpu * (0.01 if way == "spot" else 0.04),
                "Available": available,
                "Requirements": [need(ZONE, f"zone-{zone}"), need(WAY, way)],
            }
            for zone, way in sold
        ],
    }


CATALOGUE: Final = (
    _type("c-2x", 2, 4),
    _type("c-4x", 4, 8),
    _type("c-16x", 16, 32),
    _type("m-8x", 8, 64),
    _type("a-4x", 4, 8, arch="arm64"),
    _type("w-4x", 4, 16, system="windows"),
    _type("g-4x", 4, 16, sold=(("b", "on-demand"),), more={GPU: "1"}),
    _type("r-8x", 8, 128, available=False),
    _type("s-4x", 4, 2, sold=(("a", "spot"), ("b", "on-demand")), available=False),
    _type("t-4x", 4, 2, sold=(("a", "spot"), ("b", "on-demand"))),
)


# --- manifests in a few words


def pool(
    name: str = "default",
    *requirements: dict[str, object],
    taints: Sequence[Mapping[str, str]] = (),
    limits: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Manifest:
    """A pool of amd64 and linux in zones a and b, as far as `requirements` say nothing else of these."""
    usual = (need(ARCH, "amd64"), need(OS, "linux"), need(ZONE, "zone-a", "zone-b"))
    said = {requirement["key"] for requirement in requirements}
    spec: Manifest = {
        "template": {
            "metadata": {"labels": dict(labels or {})},
            "spec": {
                "requirements": [*requirements, *(u for u in usual if u["key"] not in said)],
                "taints": [dict(taint) for taint in taints],
                "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
            },
        },
        **({"limits": dict(limits)} if limits is not None else {}),
    }
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}


def pod(
    requests: Mapping[str, str] | None = None,
    *,
    name: str = "refused",
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> Manifest:
    container = {"name": "app", "resources": {"requests": dict(requests or {"cpu": "1"})}}
    meta = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [container], **spec},
    }


def selecting(**selector: str) -> Manifest:
    """A pod with a node selector; underscores stand for the names above."""
    return pod(nodeSelector={globals().get(key, key): value for key, value in selector.items()})


def requiring(*terms: Sequence[dict[str, object]], selector: Mapping[str, str] | None = None) -> Manifest:
    alternatives = [{"matchExpressions": list(term)} for term in terms]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": alternatives}}
    return pod(affinity={"nodeAffinity": required}, nodeSelector=dict(selector or {}))


def _on_node(name: str) -> Manifest:
    fields = [{"matchFields": [need("metadata.name", name)]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": fields}}
    return pod(affinity={"nodeAffinity": required})


def node(
    name: str = "worn",
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
) -> Manifest:
    has = {"cpu": cpu, "memory": memory, "pods": "20"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, **(labels or {})}},
        "spec": {"taints": [dict(taint) for taint in taints]},
        "status": {"capacity": has, "allocatable": has, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def daemon_set(requests: Mapping[str, str], **spec: Any) -> Manifest:
    template = {
        "metadata": {"labels": {"app": "agent"}},
        "spec": pod(requests, **spec)["spec"],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template},
    }


def _limited(manifest: Manifest) -> Manifest:
    """Give the pod's container limits as large as its requests, as devices must have them."""
    requests = manifest["spec"]["containers"][0]["resources"]["requests"]
    return changed(manifest, "spec.containers.0.resources", {"requests": requests, "limits": requests})


def _taint(key: str, value: str = "", effect: str = "NoSchedule") -> dict[str, str]:
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def _tolerating(value: str, effect: str = "NoSchedule") -> Manifest:
    return pod(tolerations=[{"key": "team", "operator": "Equal", "value": value, "effect": effect}])


_USED: Final = node("used", labels={"karpenter.sh/nodepool": "default"})


TAINTS: Final = (
    Case("a taint", Reason.UNTOLERATED_TAINT, (pool(taints=[_taint("team", "gpu")]), pod())),
    Case(
        "a taint without a value",
        Reason.UNTOLERATED_TAINT,
        (pool(taints=[_taint("edge", effect="NoExecute")]), pod()),
        about="edge:NoExecute",
    ),
    Case(
        "a toleration of another value",
        Reason.UNTOLERATED_TAINT,
        (pool(taints=[_taint("team", "gpu")]), _tolerating("gpus")),
    ),
    Case(
        "a toleration of another effect",
        Reason.UNTOLERATED_TAINT,
        (pool(taints=[_taint("team", "gpu")]), _tolerating("gpu", "NoExecute")),
    ),
    Case(
        "two taints",
        Reason.UNTOLERATED_TAINT,
        (pool(taints=[_taint("team", "gpu"), _taint("edge")]), deployment(replicas=3)),
    ),
    Case(
        "a taint on the only node",
        Reason.UNTOLERATED_TAINT,
        (node(taints=[_taint("team", "gpu")]), pod()),
    ),
)

LABELS: Final = (
    Case(
        "a slip in a label's key",
        Reason.UNDEFINED_LABEL,
        (pool(labels={"example.com/team": "blue"}), pod(nodeSelector={"example.com/taem": "blue"})),
        about="example.com/taem",
    ),
    Case(
        "a slip in a well-known key",
        Reason.UNDEFINED_LABEL,
        (pool(), pod(nodeSelector={"topology.kubernetes.io/zones": "zone-a"})),
    ),
    Case(
        "a slip in a label's value",
        Reason.INCOMPATIBLE_REQUIREMENT,
        (pool(labels={"example.com/team": "blue"}), pod(nodeSelector={"example.com/team": "bleu"})),
    ),
    Case("a label that nobody has", Reason.UNDEFINED_LABEL, (pool(), pod(nodeSelector={"disk": "ssd"}))),
    Case(
        "a slip in an instance type",
        Reason.NO_INSTANCE_TYPE_MATCHES,
        (pool(), selecting(TYPE="c-44x")),
        about=TYPE,
    ),
    Case("a zone the pool is not in", Reason.INCOMPATIBLE_REQUIREMENT, (pool(), selecting(ZONE="zone-c"))),
    Case("a slip in a zone", Reason.INCOMPATIBLE_REQUIREMENT, (pool(), selecting(ZONE="zone-aa"))),
    Case(
        "a way of buying the pool does not use",
        Reason.INCOMPATIBLE_REQUIREMENT,
        (pool("default", need(WAY, "spot")), selecting(WAY="on-demand")),
        about=WAY,
    ),
    Case("another architecture", Reason.ARCHITECTURE_MISMATCH, (pool(), selecting(ARCH="arm64"))),
    Case("another operating system", Reason.OPERATING_SYSTEM_MISMATCH, (pool(), selecting(OS="windows"))),
    Case(
        "another build of Windows",
        Reason.WINDOWS_BUILD_MISMATCH,
        (
            pool("default", need(OS, "windows"), need(BUILD, "10.0.17763")),
            pod(nodeSelector={OS: "windows", BUILD: "10.0.20348"}),
        ),
        about=BUILD,
    ),
    Case(
        "values of which the pool has none",
        Reason.INCOMPATIBLE_REQUIREMENT,
        (pool(), requiring([need(ZONE, "zone-c", "zone-d")])),
    ),
    Case(
        "any value of a label that nobody has",
        Reason.UNDEFINED_LABEL,
        (pool(), requiring([{"key": "rack", "operator": "Exists"}])),
    ),
    Case(
        "more cores than any type has, by label",
        Reason.NO_INSTANCE_TYPE_MATCHES,
        (pool(), requiring([need(CPU, "64", operator="Gt")])),
        about=CPU,
    ),
    Case(
        "an architecture and a family that are not made together",
        Reason.NO_INSTANCE_TYPE_MATCHES,
        (pool("default", need(ARCH, "amd64", "arm64")), selecting(ARCH="arm64", FAMILY="m")),
    ),
    Case(
        "a label that must be missing and is not",
        Reason.INCOMPATIBLE_REQUIREMENT,
        (
            pool(labels={"example.com/team": "blue"}),
            requiring([{"key": "example.com/team", "operator": "DoesNotExist"}]),
        ),
    ),
    Case(
        "none of the values the pool has",
        Reason.INCOMPATIBLE_REQUIREMENT,
        (pool(), requiring([need(ZONE, "zone-a", "zone-b", operator="NotIn")])),
    ),
    Case(
        "a selector against an affinity",
        Reason.CONTRADICTORY_REQUIREMENTS,
        (pool(), requiring([need(ZONE, "zone-b")], selector={ZONE: "zone-a"})),
    ),
    Case(
        "a value that is asked for and excluded",
        Reason.CONTRADICTORY_REQUIREMENTS,
        (pool(), requiring([need(ZONE, "zone-b"), need(ZONE, "zone-b", operator="NotIn")])),
    ),
    Case(
        "two alternatives, both wrong",
        Reason.INCOMPATIBLE_REQUIREMENT,
        (
            pool(),
            requiring([need("disk", "ssd"), need(ARCH, "amd64")], [need(ZONE, "zone-c"), need(OS, "linux")]),
        ),
    ),
    Case(
        "a node by a name that no node has",
        Reason.HOSTNAME_REQUIRED,
        (pool(), selecting(HOST="node-7")),
        about=HOST,
    ),
    Case(
        "a node by its field that no node has",
        Reason.HOSTNAME_REQUIRED,
        (pool(), _on_node("node-7")),
    ),
    Case(
        "a node by its field that is full",
        Reason.NODE_FULL,
        (node("n7", cpu="500m"), pool(), _on_node("n7")),
    ),
    Case(
        "a label and a taint at once",
        Reason.UNTOLERATED_TAINT,
        (pool(taints=[_taint("team", "gpu")]), pod(nodeSelector={"disk": "ssd"})),
    ),
)

AMOUNTS: Final = (
    Case("too many cores", Reason.TOO_LARGE, (pool(), pod({"cpu": "17"})), about="cpu"),
    Case("cores for thousandths", Reason.TOO_LARGE, (pool(), pod({"cpu": "500"})), about="cpu"),
    Case("too much memory", Reason.TOO_LARGE, (pool(), pod({"memory": "200Gi"})), about="memory"),
    Case("too much for one type at once", Reason.TOO_LARGE, (pool(), pod({"cpu": "12", "memory": "50Gi"}))),
    Case(
        "too large with what daemons take",
        Reason.TOO_LARGE,
        (pool(), daemon_set({"cpu": "1"}), pod({"cpu": "15500m"})),
        about="cpu",
    ),
    Case(
        "too large for the family it wants",
        Reason.TOO_LARGE,
        (pool(), pod({"cpu": "10"}, nodeSelector={FAMILY: "m"})),
        about="cpu",
    ),
    Case(
        "too large for the types the pool has",
        Reason.TOO_LARGE,
        (pool("default", need(CPU, "5", operator="Lt")), pod({"cpu": "6"})),
    ),
    Case(
        "too much storage",
        Reason.TOO_LARGE,
        (pool(), pod({"cpu": "1", "ephemeral-storage": "100Gi"})),
        about="ephemeral-storage",
    ),
    Case(
        "more devices than one machine has",
        Reason.TOO_LARGE,
        (pool(), _limited(pod({"cpu": "1", GPU: "2"}))),
        about=GPU,
    ),
    Case(
        "a device of a wrong name",
        Reason.UNKNOWN_RESOURCE,
        (pool(), _limited(pod({"cpu": "1", "nvidia.com/gpus": "1"}))),
        about="nvidia.com/gpus",
    ),
    Case(
        "a device that no machine has",
        Reason.UNKNOWN_RESOURCE,
        (pool(), _limited(pod({"cpu": "1", "example.com/fpga": "1"}))),
    ),
    Case(
        "a node that is full",
        Reason.NODE_FULL,
        (node(labels={"disk": "ssd"}), pool(), pod({"cpu": "5"}, nodeSelector={"disk": "ssd"})),
    ),
    Case(
        "a node by name that is full",
        Reason.NODE_FULL,
        (node("n7", cpu="2"), pool(), pod({"cpu": "3"}, nodeSelector={HOST: "n7"})),
    ),
    Case("a node that is full, and no pool", Reason.NODE_FULL, (node(), pod({"cpu": "5"}))),
    Case("no pool at all", Reason.NO_POOLS, (pod(),), curable=False),
)

STOCK: Final = (
    Case(
        "a limit of cores", Reason.LIMIT_REACHED, (pool(limits={"cpu": "6"}), _USED, pod({"cpu": "5"})), "cpu"
    ),
    Case(
        "a limit of memory",
        Reason.LIMIT_REACHED,
        (pool(limits={"memory": "9Gi"}), _USED, pod({"cpu": "5"})),
        about="memory",
    ),
    Case(
        "a limit of nodes",
        Reason.LIMIT_REACHED,
        (pool(limits={"nodes": "1"}), _USED, pod({"cpu": "5"})),
        about="nodes",
    ),
    Case(
        "a limit that holds some of many",
        Reason.LIMIT_REACHED,
        (pool(limits={"cpu": "20"}), deployment(replicas=7, cpu="7")),
    ),
    Case("a limit of nothing", Reason.LIMIT_REACHED, (pool(limits={"cpu": "0"}), pod())),
    Case(
        "a type that ran out",
        Reason.NO_CAPACITY,
        (pool(), selecting(TYPE="r-8x")),
    ),
    Case(
        "a pool of which all ran out",
        Reason.NO_CAPACITY,
        (pool("default", need(TYPE, "s-4x")), pod()),
    ),
    Case(
        "a type in a zone where it is not sold",
        Reason.NOT_SOLD,
        (pool(), pod(nodeSelector={TYPE: "t-4x", ZONE: "zone-b", WAY: "spot"})),
    ),
)


def _term(app: str, key: str, **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def _near(app: str, key: str = ZONE, **more: Any) -> dict[str, Any]:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_term(app, key, **more)]}}


def _apart(app: str, key: str = ZONE) -> dict[str, Any]:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_term(app, key)]}}


def _spread(key: str = ZONE, **more: Any) -> list[dict[str, Any]]:
    return [_term("web", key, maxSkew=1, whenUnsatisfiable="DoNotSchedule", **more)]


def _many(replicas: int, **spec: Any) -> Manifest:
    made = deployment("web", replicas)
    return changed(made, "spec.template.spec", {**made["spec"]["template"]["spec"], **spec})


def _there(app: str, on: str, *, namespace: str = "default", **spec: Any) -> Manifest:
    """A pod that has its place on a node."""
    name = f"{app}-on-{on}"
    return pod({"cpu": "1"}, name=name, namespace=namespace, labels={"app": app}, nodeName=on, **spec)


def _zonal(zone: str, *, cpu: str = "2") -> Manifest:
    return node(f"in-{zone}", cpu=cpu, labels={ZONE: f"zone-{zone}"})


def _with_port(port: int) -> Manifest:
    ports = [{"containerPort": 80, "hostPort": port}]
    return changed(pod(), "spec.containers.0", {"name": "app", "ports": ports})


TOPOLOGY: Final = (
    Case(
        "a spread over more zones than there are",
        Reason.TOPOLOGY_SPREAD,
        (pool(), _many(3, topologySpreadConstraints=_spread(minDomains=3))),
        about=ZONE,
    ),
    Case(
        "a spread that a full node holds back",
        Reason.TOPOLOGY_SPREAD,
        (
            pool("default", need(ZONE, "zone-a")),
            _zonal("b", cpu="500m"),
            _many(2, topologySpreadConstraints=_spread()),
        ),
    ),
    Case(
        "a spread over a label that nodes do not have",
        Reason.TOPOLOGY_SPREAD,
        (pool(), _many(2, topologySpreadConstraints=_spread("example.com/rack"))),
        about="example.com/rack",
    ),
    Case(
        "near pods that are nowhere",
        Reason.POD_AFFINITY,
        (pool(), pod(affinity=_near("db"))),
        about=ZONE,
    ),
    Case(
        "near pods of another namespace",
        Reason.POD_AFFINITY_NAMESPACE,
        (pool(), _zonal("a"), _there("db", "in-a", namespace="data"), pod(affinity=_near("db"))),
    ),
    Case(
        "on the node of pods, where there is no room",
        Reason.POD_AFFINITY,
        (pool(), _zonal("a", cpu="1500m"), _there("db", "in-a"), pod(affinity=_near("db", HOST))),
        about=HOST,
    ),
    Case(
        "near pods in a zone the pool is not in",
        Reason.POD_AFFINITY,
        (pool(), _zonal("c", cpu="1500m"), _there("db", "in-c"), pod(affinity=_near("db"))),
    ),
    Case(
        "more pods apart than there are zones",
        Reason.POD_ANTI_AFFINITY,
        (pool(), _many(4, affinity=_apart("web"))),
        about=ZONE,
    ),
    Case(
        "apart from pods that are in every zone",
        Reason.POD_ANTI_AFFINITY,
        (
            pool(),
            _zonal("a", cpu="1"),
            _zonal("b", cpu="1"),
            _there("db", "in-a"),
            _there("db", "in-b"),
            pod(affinity=_apart("db")),
        ),
    ),
    Case(
        "pods in every zone that keep apart from it",
        Reason.OTHERS_ANTI_AFFINITY,
        (
            pool(),
            _zonal("a", cpu="1"),
            _zonal("b", cpu="1"),
            _there("db", "in-a", affinity=_apart("web")),
            _there("db", "in-b", affinity=_apart("web")),
            _many(1),
        ),
        curable=False,
    ),
    Case(
        "a port of a daemon",
        Reason.HOST_PORT_TAKEN,
        (
            pool(),
            changed(daemon_set({"cpu": "100m"}), "spec.template.spec", _with_port(9100)["spec"]),
            _with_port(9100),
        ),
        about="9100/TCP",
    ),
    Case(
        "a port of a pod on the only node",
        Reason.HOST_PORT_TAKEN,
        (
            node("n1"),
            changed(_with_port(80), "metadata.name", "there")
            | {"spec": {**_with_port(80)["spec"], "nodeName": "n1"}},
            _with_port(80),
        ),
        about="80/TCP",
    ),
)


def _volume(zone: str, name: str = "data") -> tuple[Manifest, Manifest]:
    """A volume in one zone, and the claim on it."""
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [need(ZONE, zone)]}]}}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": f"vol-{name}"},
        "claimRef": {"namespace": "default", "name": name},
        "nodeAffinity": affinity,
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pv-{name}"},
        "spec": spec,
    }
    return volume, _claim(name, volumeName=f"pv-{name}")


def _claim(name: str = "data", phase: str = "Bound", **spec: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "gp3",
            **spec,
        },
        "status": {"phase": phase},
    }


def _storing(*names: str, **spec: Any) -> Manifest:
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names or ("data",)]
    return pod(volumes=volumes, **spec)


def _storage_class(name: str = "gp3", mode: str = "WaitForFirstConsumer", **more: Any) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "ebs.csi.aws.com",
        "volumeBindingMode": mode,
        **more,
    }


_ONLY_C: Final = [{"matchLabelExpressions": [{"key": ZONE, "values": ["zone-c"]}]}]

VOLUMES: Final = (
    Case(
        "a volume in another zone than the pod wants",
        Reason.VOLUME_TOPOLOGY,
        (pool(), *_volume("zone-b"), _storing(nodeSelector={ZONE: "zone-a"})),
        about=ZONE,
    ),
    Case(
        "a volume in a zone the pool is not in",
        Reason.VOLUME_TOPOLOGY,
        (pool(), *_volume("zone-c"), _storing()),
        about=ZONE,
    ),
    Case(
        "a volume still to be made, in a zone the pool is not in",
        Reason.VOLUME_TOPOLOGY,
        (pool(), _storage_class(allowedTopologies=_ONLY_C), _claim(phase="Pending"), _storing()),
    ),
    Case("a claim that is not there", Reason.VOLUME_CLAIM, (pool(), _storing()), curable=False),
    Case(
        "a claim that lost its volume",
        Reason.VOLUME_CLAIM,
        (pool(), _claim(phase="Lost", volumeName="pv-data"), _storing()),
        curable=False,
    ),
    Case(
        "volumes in two zones",
        Reason.VOLUME_CLAIM,
        (pool(), *_volume("zone-a", "one"), *_volume("zone-b", "two"), _storing("one", "two")),
        curable=False,
    ),
    Case(
        "a node that takes no more volumes",
        Reason.VOLUME_LIMIT,
        (
            node("n1", labels={ZONE: "zone-a"}),
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSINode",
                "metadata": {"name": "n1"},
                "spec": {
                    "drivers": [{"name": "ebs.csi.aws.com", "nodeID": "n1", "allocatable": {"count": 0}}]
                },
            },
            *_volume("zone-a"),
            _storing(),
        ),
        curable=False,
    ),
    Case(
        "a resource claim",
        Reason.RESOURCE_CLAIM,
        (pool(), pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])),
    ),
)

CASES: Final = (*TAINTS, *LABELS, *AMOUNTS, *STOCK, *TOPOLOGY, *VOLUMES)
