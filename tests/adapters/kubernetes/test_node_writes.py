from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.adapters.kubernetes.writing import CONFLICT, Rig, Tree, node_tree
from tests.builders import START, resources
from treenail.adapters.kubernetes.new_objects import new_node
from treenail.adapters.kubernetes.node_writes import NodeWrites, merged_taints, node_patch
from treenail.adapters.kubernetes.resources import NODE as NODE_RESOURCE
from treenail.adapters.kubernetes.stored import Stored
from treenail.domain.model.errors import ConflictError, InvalidError
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.nodes import Node
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.taints import DISRUPTED, UNREGISTERED, Effect, Taint

NODE = "/api/v1/nodes/n-0"
THEIRS: Tree = {
    "key": "team",
    "value": "web",
    "effect": "NoExecute",
    "timeAdded": "2026-01-01T00:00:00Z",
}
CORDON: Tree = {"key": DISRUPTED.key, "effect": DISRUPTED.effect.value}
JOINING: Tree = {"key": UNREGISTERED.key, "effect": UNREGISTERED.effect.value}


def seen(tree: Tree) -> Node:
    return Stored.of(NODE_RESOURCE, json.dumps(tree).encode()).value(Node)


def test_a_new_node_brings_its_size_along() -> None:
    node = Node(name="n-0", uid="mine", resource_version=3, capacity=resources(cpu=4), created_at=START)

    written = new_node(node)

    assert written["metadata"] == {"name": "n-0"}
    assert written["status"]["capacity"] == {"cpu": "4"}


def test_a_patch_names_what_comes_and_what_goes() -> None:
    patch = NodePatch(
        labels={"zone": "a"},
        remove_labels=("team",),
        annotations={"why": "empty"},
        unschedulable=True,
        owner=ObjectRef("Machine", "m-0", uid="uid-m-0"),
        add_finalizers=("ours",),
        remove_finalizers=("old",),
    )

    assert node_patch(patch) == {
        "metadata": {
            "labels": {"zone": "a", "team": None},
            "annotations": {"why": "empty"},
            "finalizers": ["ours"],
            "$deleteFromPrimitiveList/finalizers": ["old"],
            "ownerReferences": [
                {
                    "apiVersion": "karpenter.sh/v1alpha5",
                    "kind": "Machine",
                    "name": "m-0",
                    "uid": "uid-m-0",
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {"unschedulable": True},
    }


def test_an_owner_of_no_known_kind_is_refused() -> None:
    with pytest.raises(InvalidError, match="Ship sloop"):
        node_patch(NodePatch(owner=ObjectRef("Ship", "sloop")))


def test_taints_of_others_keep_the_time_they_were_added() -> None:
    wanted = merged_taints([THEIRS], NodePatch(add_taints=(DISRUPTED,), remove_taints=(UNREGISTERED,)))

    assert wanted == [THEIRS, CORDON]


def test_a_taint_that_is_there_is_not_added_anew() -> None:
    there = Taint("team", Effect.NO_EXECUTE, "web")

    assert merged_taints([THEIRS], NodePatch(add_taints=(there,))) == [THEIRS]
    assert merged_taints([THEIRS], NodePatch(remove_taints=(there,))) == []


def test_a_taint_of_another_value_is_another_to_take_away_but_the_same_to_add() -> None:
    other = Taint("team", Effect.NO_EXECUTE, "db")

    assert merged_taints([THEIRS], NodePatch(remove_taints=(other,))) == [THEIRS]
    assert [t["value"] for t in merged_taints([THEIRS], NodePatch(add_taints=(other,)))] == ["db"]


def test_labels_take_one_strategic_patch() -> None:
    rig = Rig(node_tree(2))

    node = NodeWrites(rig.calls, rig.retries).patch("n-0", NodePatch(labels={"a": "1"}), seen(node_tree(1)))

    [asked] = rig.server.asked
    assert (asked.method, asked.path) == ("PATCH", NODE)
    assert asked.content_type == "application/strategic-merge-patch+json"
    assert asked.body == {"metadata": {"labels": {"a": "1"}, "resourceVersion": "1"}}
    assert node.resource_version == 2


def test_taints_hold_for_the_version_that_was_read() -> None:
    rig = Rig(node_tree(4, taints=(THEIRS,)), node_tree(5))

    NodeWrites(rig.calls, rig.retries).patch("n-0", NodePatch(add_taints=(DISRUPTED,)), None)

    assert rig.server.summary == [f"GET {NODE}", f"PATCH {NODE}"]
    assert rig.server.asked[1].body == {
        "metadata": {"resourceVersion": "4"},
        "spec": {"taints": [THEIRS, CORDON]},
    }


def test_taints_that_are_as_they_should_be_take_no_patch() -> None:
    rig = Rig(node_tree(4, taints=(CORDON,)))

    node = NodeWrites(rig.calls, rig.retries).patch("n-0", NodePatch(add_taints=(DISRUPTED,)), None)

    assert rig.server.summary == [f"GET {NODE}"]
    assert node.resource_version == 4


def test_where_a_kubelet_was_first_the_taints_are_read_again() -> None:
    rig = Rig(node_tree(4), CONFLICT, node_tree(5, taints=(THEIRS,)), node_tree(6))

    NodeWrites(rig.calls, rig.retries).patch("n-0", NodePatch(add_taints=(DISRUPTED,)), None)

    assert rig.server.asked[-1].body["spec"]["taints"] == [THEIRS, CORDON]
    assert rig.server.asked[-1].body["metadata"]["resourceVersion"] == "5"


def test_taints_of_a_node_that_was_seen_take_one_patch_on_its_version_and_keep_their_times() -> None:
    rig = Rig(node_tree(5))
    patch = NodePatch(add_taints=(DISRUPTED,), remove_taints=(UNREGISTERED,))

    NodeWrites(rig.calls, rig.retries).patch("n-0", patch, seen(node_tree(4, taints=(THEIRS, JOINING))))

    [asked] = rig.server.asked
    assert asked.method == "PATCH"
    assert asked.body == {"metadata": {"resourceVersion": "4"}, "spec": {"taints": [THEIRS, CORDON]}}


def test_a_node_that_could_not_be_read_in_full_is_read_anew_before_its_taints_change() -> None:
    rig = Rig(node_tree(4, taints=(THEIRS,)), node_tree(5))
    partly = replace(seen(node_tree(4)), unread="spec.taints[0]")

    NodeWrites(rig.calls, rig.retries).patch("n-0", NodePatch(add_taints=(DISRUPTED,)), partly)

    assert rig.server.summary == [f"GET {NODE}", f"PATCH {NODE}"]
    assert rig.server.asked[1].body["spec"]["taints"] == [THEIRS, CORDON]


@pytest.mark.parametrize("unread", ["", "spec.taints[0]"])
def test_taints_at_another_version_than_the_one_seen_are_left_alone(unread: str) -> None:
    rig = Rig(node_tree(4) if unread else CONFLICT)
    before = replace(seen(node_tree(3)), unread=unread)

    with pytest.raises(ConflictError):
        NodeWrites(rig.calls, rig.retries).patch("n-0", NodePatch(add_taints=(DISRUPTED,)), before)

    assert rig.server.summary == [f"GET {NODE}" if unread else f"PATCH {NODE}"]
