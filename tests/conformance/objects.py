"""Objects of the cases in a line each: pools, pods and what they need, as manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.scenarios.manifests import Manifest
from tests.scenarios.manifests import node_class as plain_node_class
from treenail.domain.model import labels

# What cases call the labels that they speak of most.
KEYS: Final = {
    "zone": labels.ZONE,
    "host": labels.HOSTNAME,
    "type": labels.INSTANCE_TYPE,
    "arch": labels.ARCH,
    "os": labels.OS,
    "way": labels.CAPACITY_TYPE,
    "pool": labels.NODEPOOL,
    "size": labels.INSTANCE_SIZE,
    "cpus": labels.INSTANCE_CPU,
    "generation": labels.INSTANCE_GENERATION,
    "optional": labels.AWS + "instance-local-nvme",
}
BOTH_WAYS: Final = "way In spot on-demand"
# Nothing is disrupted of our own will.
CALM: Final = ({"nodes": "0"},)
FREE: Final = ({"nodes": "100%"},)


def key_of(name: str) -> str:
    return KEYS.get(name, name)


def labelled(pairs: Mapping[str, str]) -> dict[str, str]:
    return {key_of(name): value for name, value in pairs.items()}


def needs(*texts: str) -> list[dict[str, Any]]:
    """Return requirements written as "zone In z1 z2", with "min=2" at the end for `minValues`."""
    made = []
    for text in texts:
        name, operator, *values = text.split()
        one: dict[str, Any] = {"key": key_of(name), "operator": operator}
        if values and values[-1].startswith("min="):
            one["minValues"] = int(values.pop().removeprefix("min="))
        if values:
            one["values"] = values
        made.append(one)
    return made


def taints(*texts: str) -> list[dict[str, str]]:
    """Return taints written as "key=value:NoSchedule" or "key:NoSchedule"."""
    made = []
    for text in texts:
        pair, _, effect = text.rpartition(":")
        key, _, value = pair.partition("=")
        made.append({"key": key, "effect": effect, **({"value": value} if value else {})})
    return made


def tolerations(*texts: str) -> list[dict[str, str]]:
    """Return tolerations written as taints, with Exists where they have no value. "" tolerates everything."""
    made = []
    for text in texts:
        if not text:
            made.append({"operator": "Exists"})
            continue
        pair, _, effect = text.rpartition(":")
        key, _, value = pair.partition("=")
        one = (
            {"key": key, "operator": "Equal", "value": value} if value else {"key": key, "operator": "Exists"}
        )
        made.append({**one, **({"effect": effect} if effect else {})})
    return made


def pool(
    name: str = "default",
    *need: str,
    labels_: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taint: Sequence[str] = (),
    startup: Sequence[str] = (),
    weight: int | None = None,
    limits: Mapping[str, str] | None = None,
    budgets: Sequence[Mapping[str, object]] = CALM,
    policy: str = "WhenEmpty",
    after: str = "Never",
    expire: str = "Never",
    grace: str | None = None,
    node_class: str = "default",
) -> Manifest:
    """Return a pool. Its nodes stay, unless `budgets` let them go."""
    ways = () if any(one.startswith("way ") for one in need) else (BOTH_WAYS,)
    template: Manifest = {
        "requirements": needs(*need, *ways),
        "taints": taints(*taint),
        "startupTaints": taints(*startup),
        "expireAfter": expire,
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": node_class},
    }
    if grace is not None:
        template["terminationGracePeriod"] = grace
    spec: Manifest = {
        "disruption": {
            "consolidationPolicy": policy,
            "consolidateAfter": after,
            "budgets": [dict(one) for one in budgets],
        },
        "template": {
            "metadata": {"labels": labelled(labels_ or {}), "annotations": dict(annotations or {})},
            "spec": template,
        },
    }
    if weight is not None:
        spec["weight"] = weight
    if limits is not None:
        spec["limits"] = dict(limits)
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}


def ec2(name: str = "default", **spec: Any) -> Manifest:
    """Return a node class; its image is AL2023's, unless `amiSelectorTerms` say else."""
    made = plain_node_class(name)
    made["spec"] |= spec
    return made


def alias(of: str) -> list[dict[str, str]]:
    """Return the selector of an image by its alias."""
    return [{"alias": of}]


def spread(
    key: str = "zone",
    *,
    skew: int = 1,
    soft: bool = False,
    app: str | None = "app",
    **more: object,
) -> dict[str, Any]:
    """Return a constraint that spreads the pods labelled app=`app` (None: nobody) over a label."""
    return {
        "maxSkew": skew,
        "topologyKey": key_of(key),
        "whenUnsatisfiable": "ScheduleAnyway" if soft else "DoNotSchedule",
        **({} if app is None else {"labelSelector": {"matchLabels": {"app": app}}}),
        **more,
    }


def term(app: str = "app", key: str = "host", **more: object) -> dict[str, Any]:
    """Return an affinity term on the pods labelled app=`app`."""
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key_of(key), **more}


def _affinity(required: Sequence[Any], preferred: Sequence[tuple[int, Any]], form: str) -> Manifest:
    made: Manifest = {}
    if required:
        made["requiredDuringSchedulingIgnoredDuringExecution"] = list(required)
    if preferred:
        made["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": weight, form: one} for weight, one in preferred
        ]
    return made


def _weighed(preferred: Sequence[Any]) -> list[tuple[int, Any]]:
    return [one if isinstance(one, tuple) else (1, one) for one in preferred]


def _affinities(
    either: Sequence[Sequence[str]],
    prefer: Sequence[tuple[int, Sequence[str]]],
    near: Sequence[Any],
    near_soft: Sequence[Any],
    apart: Sequence[Any],
    apart_soft: Sequence[Any],
) -> Manifest:
    made: Manifest = {}
    to_nodes: Manifest = {}
    if either:
        to_nodes["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [{"matchExpressions": needs(*one)} for one in either]
        }
    if prefer:
        to_nodes["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": weight, "preference": {"matchExpressions": needs(*one)}} for weight, one in prefer
        ]
    if to_nodes:
        made["nodeAffinity"] = to_nodes
    for name, required, preferred in (
        ("podAffinity", near, near_soft),
        ("podAntiAffinity", apart, apart_soft),
    ):
        one = _affinity(required, _weighed(preferred), "podAffinityTerm")
        if one:
            made[name] = one
    return made


def pod_spec(
    *,
    requests: Mapping[str, str] | None = None,
    limits: Mapping[str, str] | None = None,
    select: Mapping[str, str] | None = None,
    need: Sequence[str] = (),
    either: Sequence[Sequence[str]] = (),
    prefer: Sequence[tuple[int, Sequence[str]]] = (),
    near: Sequence[Any] = (),
    near_soft: Sequence[Any] = (),
    apart: Sequence[Any] = (),
    apart_soft: Sequence[Any] = (),
    spreads: Sequence[Any] = (),
    tolerate: Sequence[str] = (),
    ports: Sequence[Mapping[str, object]] = (),
    grace: int = 0,
    **more: object,
) -> Manifest:
    """Return a pod's spec. `need` is one term that nodes must meet, `either` several of which one is enough.

    `prefer`, `near_soft` and `apart_soft` may have weights before them.
    """
    amounts: Manifest = {}
    if requests:
        amounts["requests"] = dict(requests)
    if limits:
        amounts["limits"] = dict(limits)
    container: Manifest = {"name": "app", "image": "app", "resources": amounts}
    if ports:
        container["ports"] = [dict(port) for port in ports]
    made: Manifest = {"terminationGracePeriodSeconds": grace, "containers": [container], **more}
    affinity = _affinities([need] if need else either, prefer, near, near_soft, apart, apart_soft)
    if affinity:
        made["affinity"] = affinity
    if select:
        made["nodeSelector"] = labelled(select)
    if spreads:
        made["topologySpreadConstraints"] = list(spreads)
    if tolerate:
        made["tolerations"] = tolerations(*tolerate)
    return made


def pod(
    name: str = "p",
    *,
    app: str = "",
    labels_: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    namespace: str = "default",
    **spec: Any,
) -> Manifest:
    """Return a pod that nothing owns, labelled app=`app` if that is given."""
    metadata: Manifest = {"name": name, "namespace": namespace}
    metadata["labels"] = {**({"app": app} if app else {}), **(labels_ or {})}
    metadata["annotations"] = dict(annotations or {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(**spec)}


def pods(name: str, count: int, **more: Any) -> list[Manifest]:
    """Return pods `name`-0, `name`-1..."""
    return [pod(f"{name}-{n}", **more) for n in range(count)]


def _workload(kind: str, name: str, meta: Manifest, spec: Manifest, **more: object) -> Manifest:
    template = {"metadata": {"labels": {"app": name}, **meta}, "spec": spec}
    body = {"selector": {"matchLabels": {"app": name}}, "template": template, **more}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": body}


def node(
    name: str,
    *,
    labels_: Mapping[str, str] | None = None,
    taint: Sequence[str] = (),
    cpu: str = "10",
    memory: str = "10Gi",
    pods: str = "110",
    **status: object,
) -> Manifest:
    """Return a ready node that no claim is of."""
    room = {"cpu": cpu, "memory": memory, "pods": pods}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {labels.HOSTNAME: name, **labelled(labels_ or {})}},
        "spec": {"providerID": f"other:///{name}", "taints": taints(*taint)},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True"}],
            **status,
        },
    }


def deployment(
    name: str = "web", replicas: int = 1, *, annotations: Mapping[str, str] | None = None, **spec: Any
) -> Manifest:
    """Return a Deployment whose pods are labelled app=`name`."""
    meta = {"annotations": dict(annotations or {})}
    return _workload("Deployment", name, meta, pod_spec(**spec), replicas=replicas)


def stateful_set(name: str = "web", replicas: int = 1, **spec: Any) -> Manifest:
    """Return a StatefulSet whose pods are labelled app=`name`."""
    return _workload("StatefulSet", name, {}, pod_spec(**spec), replicas=replicas)


def daemon_set(
    name: str = "daemon", *, annotations: Mapping[str, str] | None = None, **spec: Any
) -> Manifest:
    """Return a DaemonSet whose pods are labelled app=`name`."""
    return _workload("DaemonSet", name, {"annotations": dict(annotations or {})}, pod_spec(**spec))


def budget(name: str, app: str, **spec: object) -> Manifest:
    """Return a PodDisruptionBudget for the pods labelled app=`app`."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}, **spec},
    }
