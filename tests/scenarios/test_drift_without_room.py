"""Nodes that are to be replaced while little or nothing can be bought for their pods."""

from __future__ import annotations

from typing import Any

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import expect_whole_traces, pods_by_node
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.cluster import Change
from treenail.domain.model.nodes import Node
from treenail.domain.model.taints import DISRUPTED

TYPES = ("c5.large", "c5.xlarge")


def pool(generation: str, *types: str, at_once: str, cpu: str | None = None) -> dict[str, Any]:
    limits = {"cpu": cpu} if cpu is not None else None
    made = node_pool(labels={"generation": generation}, limits=limits, capacity_types=("on-demand",))
    made["spec"]["template"]["spec"]["requirements"].append(
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": types}
    )
    made["spec"]["disruption"]["budgets"] = [{"nodes": at_once}]
    return made


def tainted(rehearsal: Rehearsal) -> set[str]:
    """Return a set that the names of all nodes come into which bear the mark of leaving from now on."""
    names: set[str] = set()

    def note(change: Change) -> None:
        if isinstance(change.after, Node) and DISRUPTED in change.after.taints:
            names.add(change.after.name)

    rehearsal.cluster.on_change(note)
    return names


def blocked(rehearsal: Rehearsal, node: str) -> list[str]:
    """Return what was told of why a node stays."""
    events = (record.event for record in rehearsal.cluster.events())
    return [e.message for e in events if e.reason == "DisruptionBlocked" and e.about.name == node]


def test_a_node_whose_pods_have_nowhere_to_go_is_left_alone_and_leaves_its_turn_to_another() -> None:
    with Rehearsal(seed=1) as rehearsal:
        first = deployment("large", replicas=1, cpu="2500m"), deployment("filler", replicas=1, cpu="1")
        rehearsal.apply(text(node_class(), pool("one", *TYPES, at_once="1"), *first))
        rehearsal.run("3m")
        (stuck,) = pods_by_node(rehearsal)
        rehearsal.apply(text(deployment("small", replicas=1, cpu="1")))
        rehearsal.run("3m")
        (other,) = pods_by_node(rehearsal).keys() - {stuck}
        rehearsal.scale("filler", 0)
        marked = tainted(rehearsal)

        # No third node may be bought: the large pod has no place, the small one has one beside it.
        rehearsal.apply(text(pool("two", *TYPES, at_once="1", cpu="6")))
        rehearsal.run("2m")

        assert pods_by_node(rehearsal) == {stuck: 2}
        assert marked == {other}
        (why,) = {why for why in blocked(rehearsal, stuck) if why.startswith("Not all pods would schedule")}
        assert why.startswith("Not all pods would schedule, default/large-")
        assert "LimitReached" in why

        rehearsal.apply(text(pool("two", *TYPES, at_once="1", cpu="8")))
        rehearsal.run("15m")

        assert stuck not in pods_by_node(rehearsal)
        assert rehearsal.running() == 2
        assert [record.cause for record in rehearsal.history()] == ["drifted", "drifted", None]
        expect_whole_traces(rehearsal)


def test_nodes_that_cannot_all_be_replaced_at_once_are_replaced_one_after_the_other() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(
            text(
                node_class(),
                pool("one", "c5.xlarge", at_once="100%"),
                deployment("web", replicas=6, cpu="2500m"),
            )
        )
        rehearsal.run("3m")
        old = {node.uid for node in rehearsal.nodes()}  # a name may be had again
        assert len(old) == 6

        # One more than there are.
        rehearsal.apply(text(pool("two", "c5.xlarge", at_once="100%", cpu="28")))
        rehearsal.run("40m")

        assert not old & {node.uid for node in rehearsal.nodes()}
        assert rehearsal.running() == 6
        causes = [record.cause for record in rehearsal.history()]
        assert causes.count("drifted") == 6
        assert causes.count(None) == 6
        expect_whole_traces(rehearsal)
