"""Objects that are there and that nobody understands: what is on them, or they are on, is let live."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import told
from treenail.adapters.api.manifests import to_manifest
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.explain.node_explanation import explain_node
from treenail.domain.explain.pod_explanation import explain_pod
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pods import Pod

Tree = dict[str, Any]
ODD_OPERATOR = 'spec.tolerations[0].operator: "Resembles" is not one of'


def odd_pods(app: str) -> Callable[[ApiObject], Tree | None]:
    """Return what writes the pods of an app with a toleration of a later API."""

    def write(thing: ApiObject) -> Tree | None:
        if not isinstance(thing, Pod) or thing.labels.get("app") != app:
            return None
        tree = to_manifest(thing)
        tree["spec"]["tolerations"] = [{"key": "team", "operator": "Resembles", "value": "a"}]
        return tree

    return write


def odd_nodes(thing: ApiObject) -> Tree | None:
    """Write nodes with a taint whose effect is one of a later API."""
    if not isinstance(thing, Node):
        return None
    tree = to_manifest(thing)
    odd = {"key": "example.com/odd", "effect": "Slow"}
    tree["spec"]["taints"] = [*tree["spec"].get("taints", ()), odd]
    return tree


def odd_claims(thing: ApiObject) -> Tree | None:
    """Write claims with a requirement whose operator is one of a later API."""
    if not isinstance(thing, NodeClaim):
        return None
    tree = to_manifest(thing)
    odd = {"key": "example.com/odd", "operator": "Resembles", "values": ["a"]}
    tree["spec"]["requirements"] = [*tree["spec"].get("requirements", ()), odd]
    return tree


def agent(*tolerations: Tree, cpu: str = "1500m") -> Tree:
    """Return a DaemonSet on all nodes; `cpu` is three quarters of the smallest node's."""
    requests = {"cpu": cpu, "memory": "1Gi"}
    containers = [{"name": "main", "image": "agent", "resources": {"requests": requests}}]
    spec = {"tolerations": [{"operator": "Exists"}, *tolerations], "containers": containers}
    labels = {"app": "agent"}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def agent_as(tree: Tree) -> Callable[[ApiObject], Tree | None]:
    """Return what writes that DaemonSet in another way than the cluster goes on with."""

    def write(thing: ApiObject) -> Tree | None:
        if not isinstance(thing, DaemonSet) or thing.name != "agent":
            return None
        known = {"uid": thing.uid, "resourceVersion": str(thing.resource_version)}
        return {**tree, "metadata": {"name": "agent", "namespace": thing.namespace, **known}}

    return write


def expiring(generation: str) -> list[Tree]:
    pool = node_pool()
    if generation == "v1":
        pool["spec"]["template"]["spec"]["expireAfter"] = "10m"
    return [node_class(), pool]


def warnings(rehearsal: Rehearsal, kind: str) -> list[str]:
    return [
        record.event.message
        for record in rehearsal.cluster.events()
        if record.event.reason == "FailedValidation" and record.event.about.kind == kind
    ]


def test_a_pod_that_cannot_be_read_keeps_its_node_when_its_neighbours_go() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment("web"), deployment("odd", 1)))
        rehearsal.run("3m")
        rehearsal.cluster.write_as(odd_pods("odd"))
        rehearsal.crash()
        rehearsal.restart(after=5)
        rehearsal.run("1m")

        rehearsal.scale("web", 0)
        rehearsal.run("30m")

        assert rehearsal.running() == 1
        assert len(rehearsal.nodes()) == 1
        (pod,) = rehearsal.pods()
        (warning,) = warnings(rehearsal, "Pod")
        assert warning.startswith(ODD_OPERATOR)
        assert warning.endswith(f"; node {pod.node_name} is not given up by choice while it is there")


def test_a_pod_that_cannot_be_read_is_evicted_from_a_machine_that_ec2_takes() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment("odd", 1)))
        rehearsal.run("3m")
        rehearsal.cluster.write_as(odd_pods("odd"))
        rehearsal.run("6h")
        (before,) = rehearsal.pods()
        assert before.node_name

        rehearsal.interrupt()
        rehearsal.run("1m")

        assert [pod.uid for pod in rehearsal.pods()] != [before.uid]
        rehearsal.run("5m")
        assert rehearsal.history()[0].cause == "spot_interrupted"


def test_a_pending_pod_that_cannot_be_read_buys_nothing_and_says_so() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.cluster.write_as(odd_pods("odd"))
        rehearsal.apply(text(node_class(), node_pool(), deployment("odd", 1)))
        rehearsal.run("10m")

        assert rehearsal.history() == ()
        (warning,) = warnings(rehearsal, "Pod")
        assert warning.endswith("; no node is bought for it")
        model = rehearsal.system.model
        (pod,) = model.objects.pods.values()
        says = [one.says for one in explain_pod(model, pod, rehearsal.world.now())]
        assert says[1] == "No node is bought for it."


def test_a_node_that_cannot_be_read_at_a_restart_is_left_alone() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(*expiring("v1"), deployment("web")))
        rehearsal.run("3m")
        rehearsal.cluster.write_as(odd_nodes)
        rehearsal.crash()
        rehearsal.restart(after=5)

        rehearsal.run("2h")

        assert rehearsal.running() == 3
        (record,) = rehearsal.history()
        assert record.cause is None
        (warning,) = warnings(rehearsal, "Node")
        assert '"Slow" is not one of' in warning
        assert warning.endswith("; it is left alone")
        model = rehearsal.system.model
        view = model.objects.view(model.objects.view_name(record.name))
        assert view is not None
        says = [one.says for one in explain_node(model, view, rehearsal.world.now())]
        assert says[1] == "It is left alone until it is, or goes for a reason that is not ours."


def test_a_node_that_cannot_be_read_while_it_joins_is_not_given_back() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.cluster.write_as(odd_nodes)
        rehearsal.apply(text(node_class(), node_pool(), deployment("web")))

        rehearsal.run("2h")

        (record,) = rehearsal.history()
        assert record.cause is None

        rehearsal.cluster.write_as(None)
        rehearsal.crash()
        rehearsal.restart(after=5)
        rehearsal.run("5m")
        assert rehearsal.running() == 3


def test_a_claim_that_cannot_be_read_is_left_alone_until_somebody_deletes_it() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(*expiring("v1"), deployment("web")))
        rehearsal.run("3m")
        rehearsal.cluster.write_as(odd_claims)
        rehearsal.crash()
        rehearsal.restart(after=5)
        rehearsal.run("2h")
        assert rehearsal.running() == 3
        (claim,) = rehearsal.claims()

        rehearsal.delete("NodeClaim", claim.name)
        rehearsal.run("5m")

        assert claim.name not in {one.name for one in rehearsal.claims()}
        assert len(told(rehearsal, "NodeDrained")) == 1


def test_what_keeps_a_drifted_node_is_named() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment("odd", 1)))
        rehearsal.run("3m")
        rehearsal.cluster.write_as(odd_pods("odd"))
        rehearsal.crash()
        rehearsal.restart(after=5)

        rehearsal.apply(text(node_pool(labels={"team": "new"})))
        rehearsal.run("30m")

        (pod,), (record,) = rehearsal.pods(), rehearsal.history()
        assert record.cause is None
        unread = f"Pod cannot be read (Pod={pod.key}): {ODD_OPERATOR}"
        told = [r.event for r in rehearsal.cluster.events() if unread in r.event.message]
        assert {(event.about.kind, event.reason) for event in told} >= {
            ("Node", "DisruptionBlocked"),
            ("NodeClaim", "DisruptionBlocked"),
        }


def test_a_daemon_set_that_is_read_in_part_has_room_on_new_nodes() -> None:
    with Rehearsal(seed=1) as rehearsal:
        odd = agent({"key": "team", "operator": "Resembles", "value": "a"})
        rehearsal.cluster.write_as(agent_as(odd))
        rehearsal.apply(text(node_class(), node_pool(), agent(), deployment("web", 1, cpu="1500m")))

        rehearsal.run("15m")

        assert rehearsal.running() == 1
        assert len(rehearsal.history()) == 1
        assert [one.about.kind for one in rehearsal.system.model.objects.aside.values()] == ["DaemonSet"]


def test_daemons_that_request_more_than_their_template_have_room_on_the_next_node() -> None:
    with Rehearsal(seed=1) as rehearsal:
        # As where admission adds a container to each pod: of that the DaemonSet says nothing.
        rehearsal.cluster.write_as(agent_as(agent(cpu="100m")))
        rehearsal.apply(text(node_class(), node_pool(), agent(), deployment("web", 1, cpu="1500m")))

        rehearsal.run("15m")

        assert rehearsal.running() == 1
        assert len(rehearsal.history()) == 2
