from __future__ import annotations

from typing import Final

from tests.adapters.fake.cluster.builders import (
    a_claim,
    a_class,
    a_node,
    a_pod,
    a_pool,
)
from tests.adapters.fake.cluster.rig import Rig
from treenail.domain.cluster.cluster_facts import (
    Kind,
    ObjectGone,
    ObjectSeen,
    ObjectSetAside,
    Resynced,
    key_of,
)
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Condition, Status, holds
from treenail.domain.model.patches import ClaimPatch

POOL: Final = ObjectRef("NodePool", "default")


def set_aside(rig: Rig, name: str = "default", problem: str = "spec.weight: -1 is negative") -> None:
    rig.cluster.apply_broken(Kind.NODE_POOL, name, ObjectRef("NodePool", name), problem)


def test_an_object_that_cannot_be_understood_is_told_as_set_aside() -> None:
    rig = Rig()
    listener = rig.watched()
    rig.run(1)

    set_aside(rig)
    rig.run(1)

    assert listener.facts[1:] == [
        ObjectSetAside(
            kind=Kind.NODE_POOL,
            key="default",
            resource_version=1,
            about=POOL,
            problem="spec.weight: -1 is negative",
        )
    ]


def test_what_is_set_aside_is_told_with_every_full_list() -> None:
    rig = Rig()
    set_aside(rig)

    listener = rig.watched()
    rig.run(1)

    [listed] = listener.of(Resynced)
    assert [aside.problem for aside in listed.set_aside] != []
    assert listener.facts == [listed]


def test_an_object_that_is_broken_and_mended_is_the_same_one() -> None:
    rig = Rig()
    rig.cluster.apply(a_pool("default"))
    rig.cluster.create_claim(a_claim("c-0"))
    [before] = rig.cluster.objects(NodePool)
    listener = rig.watched()
    rig.run(1)

    set_aside(rig)
    rig.run(1)
    rig.cluster.apply(a_pool("default"))
    rig.run(1)

    [after] = rig.cluster.objects(NodePool)
    assert after.uid == before.uid
    assert [type(fact) for fact in listener.facts] == [Resynced, ObjectSetAside, ObjectSeen]


def test_a_broken_object_is_in_no_list_and_its_changes_are_told_as_set_aside() -> None:
    rig = Rig()
    rig.cluster.create_claim(a_claim("c-0"))
    rig.cluster.create_claim(a_claim("c-1"))
    about = ObjectRef("NodeClaim", "c-0")
    rig.cluster.apply_broken(Kind.NODE_CLAIM, "c-0", about, "spec.taints: not a list")
    listener = rig.watched()
    rig.run(1)

    changed = rig.cluster.patch_claim("c-0", ClaimPatch(labels={"a": "1"}))
    rig.run(1)

    assert [claim.name for claim in rig.cluster.list_claims()] == ["c-1"]
    assert [key_of(thing) for thing in listener.of(Resynced)[0].objects] == ["c-1"]
    assert [f.resource_version for f in listener.of(Resynced)[0].set_aside] == [3]
    assert [f.resource_version for f in listener.of(ObjectSetAside)] == [changed.resource_version]

    rig.cluster.delete("NodeClaim", "c-0")
    rig.run(1)

    assert listener.facts[-1] == ObjectGone(kind=Kind.NODE_CLAIM, key="c-0")


def test_the_cluster_goes_on_with_a_node_that_clients_cannot_understand() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_pod("web"))
    rig.run(5)

    rig.cluster.apply_broken(Kind.NODE, "n-0", ObjectRef("Node", "n-0"), "status.capacity: no quantity")
    rig.run(10)

    assert rig.pod("web").ready


def test_a_broken_object_can_be_deleted_and_takes_conditions() -> None:
    rig = Rig()
    listener = rig.watched()
    rig.run(1)
    set_aside(rig)
    rig.cluster.set_conditions(POOL, (Condition("Valid", Status.FALSE, "Broken"),))
    assert not holds(rig.cluster.conditions(POOL), "Valid")
    assert len(rig.cluster.conditions(POOL)) == 1

    rig.cluster.delete("NodePool", "default")
    rig.run(1)

    assert listener.facts[-1] == ObjectGone(kind=Kind.NODE_POOL, key="default")


def test_a_broken_node_class_is_named_by_its_kind() -> None:
    rig = Rig()
    listener = rig.watched()
    rig.run(1)

    about = ObjectRef("EC2NodeClass", "default")
    rig.cluster.apply_broken(Kind.NODE_CLASS, "default", about, "spec.role: missing")
    rig.run(1)
    rig.cluster.apply(a_class("default"))
    rig.run(1)

    assert [fact.key for fact in listener.of(ObjectSetAside)] == ["EC2NodeClass/default"]
    assert [key_of(fact.object) for fact in listener.of(ObjectSeen)] == ["EC2NodeClass/default"]
