"""Nodes that come with less room than anybody could know: the pods they were bought for never fit."""

from __future__ import annotations

from typing import Any

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from treenail.adapters.api.manifests import to_manifest
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.model.pods import Pod

Tree = dict[str, Any]


def agent(cpu: str) -> Tree:
    requests = {"cpu": cpu, "memory": "1Gi"}
    containers = [{"name": "main", "image": "agent", "resources": {"requests": requests}}]
    labels = {"app": "agent"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"tolerations": [{"operator": "Exists"}], "containers": containers},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": spec}


def as_static_pods(thing: ApiObject) -> Tree | None:
    """Write the pods of that DaemonSet as those that each kubelet makes for itself."""
    if isinstance(thing, DaemonSet) and thing.name == "agent":
        known = {"uid": thing.uid, "resourceVersion": str(thing.resource_version)}
        return {**agent("1m"), "metadata": {"name": "agent", "namespace": thing.namespace, **known}}
    if isinstance(thing, Pod) and thing.labels.get("app") == "agent":
        tree = to_manifest(thing)
        owner = {"apiVersion": "v1", "kind": "Node", "name": "node", "uid": "u-node", "controller": True}
        tree["metadata"]["ownerReferences"] = [owner]
        return tree
    return None


def test_nodes_are_bought_more_and_more_slowly_for_a_pod_that_static_pods_leave_no_room() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.cluster.write_as(as_static_pods)
        rehearsal.apply(text(node_class(), node_pool(), agent("1500m"), deployment("web", 1, cpu="1500m")))

        rehearsal.run("1h")
        bought = len(rehearsal.history())
        rehearsal.run("2h")

        # Each of them is given back, and it is tried again now and then.
        assert bought <= 10
        assert bought < len(rehearsal.history()) <= bought + 6
        assert len(rehearsal.nodes()) <= 1


def test_a_pod_that_was_crowded_out_gets_its_node_when_nothing_takes_its_room_any_more() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.cluster.write_as(as_static_pods)
        rehearsal.apply(text(node_class(), node_pool(), agent("1500m"), deployment("web", 1, cpu="1500m")))
        rehearsal.run("1h")
        assert rehearsal.running() == 0

        rehearsal.delete("DaemonSet", "agent")
        rehearsal.run("3m")

        assert rehearsal.running() == 1
