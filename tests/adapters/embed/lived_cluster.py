"""A cluster as an API server shows it: nodes with claims, and pods of each kind of workload on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from tests.scenarios.manifests import node_class, node_pool

Manifest: TypeAlias = dict[str, Any]

MADE = "2026-03-01T10:00:00Z"
TAKEN = "2026-03-02T10:00:00Z"
_POD = {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "500m"}}}]}


def lived_cluster(nodes: int = 2, *, zone: str = "us-east-1a", arch: str = "amd64") -> list[Manifest]:
    """Return a snapshot of so many m5.large nodes, each with a pod of a Deployment and of a DaemonSet.

    On the first there are pods of a StatefulSet, a Job, and an owner of a kind that nobody knows.
    """
    return [
        of("treenail.sh/v1alpha1", "ClusterSnapshot", "cluster", spec={"takenAt": TAKEN}),
        stored(node_class()),
        stored(node_pool(capacity_types=("on-demand",))),
        *_workloads(nodes),
        *(thing for n in range(nodes) for thing in _node(n, zone, arch)),
        *_pods(nodes),
    ]


def of(api_version: str, kind: str, name: str, **rest: Any) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **rest}


def stored(thing: Manifest, **metadata: Any) -> Manifest:
    """Return a manifest as the API server has it."""
    own = thing["metadata"]
    uid = f"uid-{thing['kind']}-{own['name']}"
    return {**thing, "metadata": {**own, "uid": uid, "creationTimestamp": MADE, **metadata}}


def owned(by: Manifest) -> Mapping[str, Any]:
    owner = {
        "apiVersion": by["apiVersion"],
        "kind": by["kind"],
        "name": by["metadata"]["name"],
        "uid": by["metadata"]["uid"],
        "controller": True,
    }
    return {"ownerReferences": [owner]}


def _template(app: str) -> Manifest:
    return {"metadata": {"labels": {"app": app}}, "spec": _POD}


def _workload(kind: str, app: str, **spec: Any) -> Manifest:
    selector = {"matchLabels": {"app": app}}
    return stored(of("apps/v1", kind, app, spec={"selector": selector, "template": _template(app), **spec}))


def _replica_set(nodes: int) -> Manifest:
    deployment = _workload("Deployment", "web", replicas=nodes)
    labels = {"app": "web", "pod-template-hash": "abc"}
    spec = {
        "replicas": nodes,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": _POD},
    }
    return stored(of("apps/v1", "ReplicaSet", "web-abc", spec=spec), **owned(deployment))


def _job() -> Manifest:
    template = {"metadata": {"labels": {"app": "job"}}, "spec": {**_POD, "restartPolicy": "Never"}}
    spec = {"template": template, "completions": 3, "parallelism": 1}
    return stored(of("batch/v1", "Job", "job", spec=spec, status={"succeeded": 2}))


def _done_job() -> Manifest:
    done = _job()
    conditions = [{"type": "Complete", "status": "True"}]
    return stored(
        {**done, "metadata": {"name": "done"}, "status": {"succeeded": 3, "conditions": conditions}}
    )


def _stateful_set() -> Manifest:
    return {**_workload("StatefulSet", "db", replicas=1), "status": {"updateRevision": "db-7"}}


def _workloads(nodes: int) -> Iterator[Manifest]:
    yield _workload("Deployment", "web", replicas=nodes)
    yield _replica_set(nodes)
    yield _stateful_set()
    yield _workload("DaemonSet", "agent")
    yield _job()
    yield _done_job()


def _node(n: int, zone: str, arch: str) -> Iterator[Manifest]:
    provider = f"aws:///{zone}/i-{n:017x}"
    labels = {
        "karpenter.sh/nodepool": "default",
        "karpenter.sh/capacity-type": "on-demand",
        "karpenter.k8s.aws/instance-family": "m5",
        "node.kubernetes.io/instance-type": "m5.large",
        "topology.kubernetes.io/zone": zone,
        "topology.kubernetes.io/region": zone[:-1],
        "kubernetes.io/arch": arch,
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": f"node-{n}",
        "karpenter.sh/registered": "true",
        "karpenter.sh/initialized": "true",
    }
    amounts = {"cpu": "2", "memory": "7Gi", "pods": "29", "ephemeral-storage": "17Gi"}
    true = [
        {"type": kind, "status": "True", "lastTransitionTime": MADE, "reason": kind}
        for kind in ("Launched", "Registered", "Initialized", "Ready")
    ]
    claim = stored(
        of(
            "karpenter.sh/v1",
            "NodeClaim",
            f"default-{n}",
            spec={
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [],
                "expireAfter": "Never",
            },
            status={
                "providerID": provider,
                "nodeName": f"node-{n}",
                "imageID": "ami-0123456789abcdef0",
                "capacity": amounts,
                "allocatable": amounts,
                "conditions": true,
            },
        ),
        labels=labels,
        finalizers=["karpenter.sh/termination"],
        **owned(stored(node_pool())),
    )
    yield claim
    yield stored(
        of(
            "v1",
            "Node",
            f"node-{n}",
            spec={"providerID": provider},
            status={
                "capacity": amounts,
                "allocatable": amounts,
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": MADE}],
            },
        ),
        labels=labels,
        finalizers=["karpenter.sh/termination"],
    )


def _pod(name: str, node: str, labels: Mapping[str, str], by: Manifest) -> Manifest:
    status = {
        "phase": "Running",
        "startTime": MADE,
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": MADE}],
    }
    pod = of("v1", "Pod", name, spec={**_POD, "nodeName": node}, status=status)
    return stored(pod, namespace="default", labels=dict(labels), **owned(by))


def _pods(nodes: int) -> Iterator[Manifest]:
    replica_set, agent = _replica_set(nodes), _workload("DaemonSet", "agent")
    for n in range(nodes):
        labels = {"app": "web", "pod-template-hash": "abc"}
        yield _pod(f"web-abc-{n}", f"node-{n}", labels, replica_set)
        yield _pod(f"agent-{n}", f"node-{n}", {"app": "agent", "controller-revision-hash": "r1"}, agent)
    of_db = {"app": "db", "controller-revision-hash": "db-7"}
    yield _pod("db-0", "node-0", of_db, _stateful_set())
    yield _pod("job-x", "node-0", {"app": "job"}, _job())
    yield _pod("roll-x", "node-0", {"app": "roll"}, stored(of("argoproj.io/v1alpha1", "Rollout", "roll")))
