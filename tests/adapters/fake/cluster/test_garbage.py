from __future__ import annotations

from tests.adapters.fake.cluster.builders import a_claim, a_deployment, a_node, a_pod, a_pool, a_spec
from tests.adapters.fake.cluster.rig import Rig
from treenail.adapters.api.workloads import Deployment, ReplicaSet
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.pods import Owner

FINALIZER = "example.com/wait"


def a_pool_with_a_claim(rig: Rig, **fields: object) -> None:
    rig.cluster.apply(a_pool("default"))
    [pool] = rig.cluster.objects(NodePool)
    owner = Owner("NodePool", pool.name, pool.uid, block_deletion=True)
    rig.cluster.create_claim(a_claim("c-0", owners=(owner,), **fields))


def test_what_is_owned_goes_after_its_owner() -> None:
    rig = Rig()
    rig.cluster.apply(a_deployment("inflate", 3))
    rig.run(1)

    rig.cluster.delete("Deployment", "inflate")
    assert len(rig.cluster.objects(ReplicaSet)) == 1
    rig.run(2)

    assert rig.cluster.objects(ReplicaSet) == ()
    assert rig.cluster.pods() == ()


def test_in_the_foreground_the_owner_goes_last() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_deployment("inflate", 3, spec=a_spec(grace_seconds=30)))
    rig.run(5)
    gone: list[str] = []
    rig.cluster.on_change(lambda change: gone.append(change.kind) if change.after is None else None)

    rig.cluster.delete("Deployment", "inflate", cascade="foreground")
    rig.run(30)

    assert gone == ["Pod", "Pod", "Pod", "ReplicaSet", "Deployment"]
    assert rig.cluster.objects(Deployment) == ()


def test_nothing_is_made_anew_for_an_owner_that_waits_to_go() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_deployment("inflate", 3))
    rig.run(5)
    made: list[str] = []
    rig.cluster.on_change(lambda change: made.append(change.kind) if change.before is None else None)

    rig.cluster.delete("Deployment", "inflate", cascade="foreground")
    rig.run(30)

    assert made == []


def test_a_pool_deleted_in_the_foreground_waits_for_its_claims() -> None:
    rig = Rig()
    a_pool_with_a_claim(rig, finalizers=(FINALIZER,))

    rig.cluster.delete("NodePool", "default", cascade="foreground")
    rig.run(5)
    [waiting] = rig.cluster.objects(NodePool)
    claim_leaves = rig.cluster.get_claim("c-0").leaving
    rig.cluster.patch_claim("c-0", ClaimPatch(remove_finalizers=(FINALIZER,)))
    rig.run(1)

    assert waiting.deleting
    assert claim_leaves
    assert rig.cluster.objects(NodePool) == ()


def test_a_pool_deleted_in_the_background_goes_at_once_and_its_claims_follow() -> None:
    rig = Rig()
    a_pool_with_a_claim(rig, finalizers=(FINALIZER,))

    rig.cluster.delete("Provisioner", "default")
    assert rig.cluster.objects(NodePool) == ()
    rig.run(1)

    assert rig.cluster.get_claim("c-0").leaving


def test_a_second_deletion_in_the_foreground_makes_the_owner_wait() -> None:
    rig = Rig()
    claim = rig.cluster.create_claim(a_claim("c-0", finalizers=(FINALIZER,)))
    rig.cluster.apply(a_node("n-0", finalizers=(FINALIZER,)))
    rig.cluster.patch_node("n-0", NodePatch(owner=ObjectRef("NodeClaim", "c-0", uid=claim.uid)))
    rig.cluster.delete("NodeClaim", "c-0")

    rig.cluster.delete("NodeClaim", "c-0", cascade="foreground")
    rig.cluster.patch_claim("c-0", ClaimPatch(remove_finalizers=(FINALIZER,)))
    rig.run(5)
    held = rig.cluster.claims()
    rig.cluster.patch_node("n-0", NodePatch(remove_finalizers=(FINALIZER,)))
    rig.run(1)

    assert [c.name for c in held] == ["c-0"]
    assert rig.cluster.claims() == ()


def test_a_node_goes_after_the_claim_that_owns_it() -> None:
    rig = Rig()
    claim = rig.cluster.create_claim(a_claim("c-0"))
    rig.cluster.apply(a_node("n-0"))
    rig.cluster.patch_node("n-0", NodePatch(owner=ObjectRef("NodeClaim", "c-0", uid=claim.uid)))

    rig.cluster.delete_claim("c-0", uid=claim.uid)
    rig.run(1)

    assert rig.cluster.nodes() == ()


def test_what_has_another_owner_stays_with_it() -> None:
    rig = Rig()
    first = rig.cluster.create_claim(a_claim("c-0"))
    second = rig.cluster.create_claim(a_claim("c-1"))
    owners = tuple(Owner("NodeClaim", c.name, c.uid) for c in (first, second))
    rig.cluster.apply(a_node("n-0", owners=owners))

    rig.cluster.delete_claim("c-0", uid=first.uid)
    rig.run(1)

    assert [owner.uid for owner in rig.node("n-0").owners] == [second.uid]


def test_what_is_made_for_an_owner_that_never_was_goes() -> None:
    rig = Rig()
    rig.cluster.apply(a_pod("web", owners=(Owner("ReplicaSet", "ghost", "no-such-uid"),)))

    rig.run(1)

    assert rig.cluster.pods() == ()


def test_what_a_namespace_held_goes_with_it() -> None:
    rig = Rig()
    rig.cluster.apply(
        Namespace(name="team"), a_deployment("inflate", 2, namespace="team"), a_pod("web"), a_node("n-0")
    )
    rig.run(5)

    rig.cluster.delete("Namespace", "team")
    rig.run(10)

    assert [pod.key for pod in rig.cluster.pods()] == ["default/web"]
    assert rig.cluster.objects(Deployment) == ()
