from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.fake.cluster.builders import a_claim, a_class, a_deployment, a_node, a_pod, a_pool
from tests.adapters.fake.cluster.rig import Rig
from tests.agenda import START
from treenail.adapters.api.workloads import ApiObject, Deployment
from treenail.domain.model.errors import InvalidError, NotFoundError
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_classes import AmiFamily, NodeClass
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.nodes import READY, Condition, NodeClaim, Status
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.pods import Phase
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import DISRUPTED, Effect, Taint


def test_every_write_has_a_revision_of_its_own() -> None:
    rig = Rig()
    rig.cluster.apply(a_pool("default"), a_node("n-0"), a_pod("web"))

    pool = rig.cluster.objects(NodePool)[0]
    versions = [pool.resource_version, rig.node("n-0").resource_version, rig.pod("web").resource_version]

    assert len(set(versions)) == 3
    assert max(versions) == rig.cluster.revision


def test_what_users_apply_is_created_now_whatever_it_says() -> None:
    rig = Rig()
    rig.run(30)

    rig.cluster.apply(a_pod("web"))

    assert (rig.pod("web").created_at - START).total_seconds() == 30


def test_a_uid_that_is_brought_along_is_kept_unless_it_is_taken() -> None:
    rig = Rig()
    rig.cluster.apply(replace(a_pod("web"), uid="mine"))

    with pytest.raises(InvalidError):
        rig.cluster.apply(replace(a_pod("other"), uid="mine"))

    assert rig.pod("web").uid == "mine"


def test_what_others_refer_to_is_applied_first() -> None:
    rig = Rig()

    rig.cluster.apply(a_pod("web", node_name="n-0", phase=Phase.RUNNING), a_node("n-0"))

    assert rig.pod("web").node_name == "n-0"


def test_objects_are_found_by_any_name_of_their_kind() -> None:
    rig = Rig()
    rig.cluster.apply(
        a_pool("default"), a_class("default"), a_deployment("web", 0, namespace="team"), a_claim("c-0")
    )

    assert isinstance(rig.cluster.get("Provisioner", "default"), NodePool)
    assert isinstance(rig.cluster.get("nodepool", "default"), NodePool)
    assert isinstance(rig.cluster.get("EC2NodeClass", "default"), NodeClass)
    assert isinstance(rig.cluster.get("Machine", "c-0"), NodeClaim)
    assert isinstance(rig.cluster.get("Deployment", "web", namespace="team"), Deployment)
    with pytest.raises(NotFoundError):
        rig.cluster.get("Deployment", "web")
    with pytest.raises(NotFoundError):
        rig.cluster.delete("Unheard", "of")


def test_a_node_class_counts_the_changes_of_its_spec() -> None:
    rig = Rig()
    for family in (AmiFamily.AL2, AmiFamily.AL2, AmiFamily.AL2023):
        rig.cluster.apply(a_class("default", ami_family=family))

    [node_class] = rig.cluster.objects(NodeClass)
    assert (node_class.ami_family, node_class.generation) == (AmiFamily.AL2023, 1)


def test_a_pool_keeps_its_uid_when_it_is_applied_again() -> None:
    rig = Rig()
    rig.cluster.apply(a_pool("default"))
    [before] = rig.cluster.objects(NodePool)

    rig.cluster.apply(a_pool("default", weight=10))

    [after] = rig.cluster.objects(NodePool)
    assert (after.uid, after.weight) == (before.uid, 10)


def test_a_pool_is_of_one_generation() -> None:
    rig = Rig()
    rig.cluster.apply(a_pool("default"))

    with pytest.raises(InvalidError):
        rig.cluster.apply(a_pool("default", generation=Generation.V1ALPHA5))


@pytest.mark.parametrize(
    "change",
    [
        {"requests": Resources({"cpu": 1})},
        {"taints": (DISRUPTED,)},
        {"pool": "other"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_a_claim_asks_for_is_fixed(change: dict[str, object]) -> None:
    rig = Rig()
    rig.cluster.create_claim(a_claim("c-0"))

    with pytest.raises(InvalidError):
        rig.cluster.apply(replace(a_claim("c-0"), **change))  # type: ignore[arg-type]
    rig.cluster.apply(a_claim("c-0", labels={"a": "1"}))

    assert rig.cluster.get_claim("c-0").labels == {"a": "1"}


def test_the_provider_id_of_a_claim_is_set_once() -> None:
    rig = Rig()
    rig.cluster.create_claim(a_claim("c-0"))
    rig.cluster.patch_claim("c-0", ClaimPatch(provider_id="aws:///us-east-1a/i-0"))

    rig.cluster.patch_claim("c-0", ClaimPatch(provider_id="aws:///us-east-1a/i-0"))
    with pytest.raises(InvalidError):
        rig.cluster.patch_claim("c-0", ClaimPatch(provider_id="aws:///us-east-1a/i-1"))

    assert rig.cluster.get_claim("c-0").instance_id == "i-0"


def test_a_node_has_one_taint_of_a_key_and_effect() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0", taints=(Taint("team", Effect.NO_SCHEDULE, "a"),)))

    patched = rig.cluster.patch_node("n-0", NodePatch(add_taints=(Taint("team", Effect.NO_SCHEDULE, "b"),)))

    assert patched.taints == (Taint("team", Effect.NO_SCHEDULE, "b"),)


@pytest.mark.parametrize(
    "impossible",
    [
        a_pod("Upper"),
        a_pod("web", phase=Phase.RUNNING),
        a_pod("web", labels={"": "x"}),
        a_node("n-0", cpu="-1"),
        a_node("n-0", taints=(Taint("team", Effect.NO_SCHEDULE, "not a value!"),)),
        a_claim("c-0", startup_taints=(Taint("no key!", Effect.NO_SCHEDULE),)),
        a_class("not_a_name"),
    ],
)
def test_what_could_not_be_is_refused_and_named(impossible: ApiObject) -> None:
    rig = Rig()

    with pytest.raises(InvalidError, match=r"^(Pod|Node|NodeClaim|NodeClass) .+: .+"):
        rig.cluster.apply(impossible)

    assert rig.cluster.revision == 0


def test_a_patch_that_could_not_be_is_refused() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"))

    with pytest.raises(InvalidError):
        rig.cluster.patch_node("n-0", NodePatch(labels={"team": "not a value!"}))

    assert rig.node("n-0").labels == {}


def test_conditions_go_with_their_object() -> None:
    rig = Rig()
    about = ObjectRef("NodePool", "default")
    rig.cluster.apply(a_pool("default"))
    rig.cluster.set_conditions(about, (Condition(READY, Status.TRUE),))
    rig.cluster.delete("NodePool", "default")

    rig.cluster.apply(a_pool("default"))

    assert rig.cluster.conditions(about) == ()


def test_the_conditions_of_nodes_and_claims_are_their_own() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"))

    [ready] = rig.cluster.conditions(ObjectRef("Node", "n-0"))

    assert (ready.type, ready.status, ready.since) == (READY, Status.TRUE, START)
