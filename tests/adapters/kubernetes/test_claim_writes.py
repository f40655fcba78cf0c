from __future__ import annotations

import pytest

from tests.adapters.kubernetes.writing import CONFLICT, GONE, Rig, claim_tree, machine_tree
from treenail.adapters.kubernetes.claim_writes import ClaimWrites
from treenail.domain.model.errors import ConflictError, NotFoundError
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import LAUNCHED, Condition, NodeClaim, Status
from treenail.domain.model.patches import ClaimPatch

CLAIM = "/apis/karpenter.sh/v1/nodeclaims/c-0"
MACHINE = "/apis/karpenter.sh/v1alpha5/machines/c-0"
IS_LAUNCHED = Condition(LAUNCHED, Status.TRUE, "Launched")


def writes(rig: Rig) -> ClaimWrites:
    return ClaimWrites(rig.calls, clock=rig.clock, retries=rig.retries)


def a_claim(rig: Rig, generation: Generation = Generation.V1) -> NodeClaim:
    ref = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
    return NodeClaim(
        name="c-0", generation=generation, pool="default", node_class=ref, created_at=rig.clock.now()
    )


def test_an_annotation_takes_one_request_and_looks_at_nothing_first() -> None:
    rig = Rig(claim_tree(2))

    claim = writes(rig).patch("c-0", ClaimPatch(annotations={"a": "1"}), None)

    [asked] = rig.server.asked
    assert (asked.method, asked.path) == ("PATCH", CLAIM)
    assert asked.content_type == "application/merge-patch+json"
    assert asked.body == {"metadata": {"annotations": {"a": "1"}}}
    assert claim.resource_version == 2


def test_a_version_is_a_precondition_of_the_request_itself() -> None:
    rig = Rig(claim_tree(2))

    writes(rig).patch("c-0", ClaimPatch(annotations={"a": "1"}), 1)

    assert rig.server.asked[0].body["metadata"]["resourceVersion"] == "1"


def test_what_is_known_from_an_answer_is_not_read_again() -> None:
    rig = Rig(claim_tree(1), claim_tree(2), claim_tree(3))
    claims = writes(rig)
    claims.create(a_claim(rig))

    claims.patch("c-0", ClaimPatch(conditions=(IS_LAUNCHED,)), None)
    claims.patch("c-0", ClaimPatch(labels={"a": "1"}, remove_finalizers=("wait",)), None)

    assert rig.server.summary[1:] == [f"PATCH {CLAIM}/status", f"PATCH {CLAIM}"]
    assert [a.body["metadata"]["resourceVersion"] for a in rig.server.asked[1:]] == ["1", "2"]


def test_the_status_is_changed_on_top_of_the_changed_metadata() -> None:
    rig = Rig(claim_tree(2), claim_tree(3))

    claim = writes(rig).patch("c-0", ClaimPatch(labels={"a": "1"}, conditions=(IS_LAUNCHED,)), 1)

    assert rig.server.summary == [f"PATCH {CLAIM}", f"PATCH {CLAIM}/status"]
    assert [a.body["metadata"]["resourceVersion"] for a in rig.server.asked] == ["1", "2"]
    assert claim.resource_version == 3


def test_conditions_of_a_claim_that_is_not_known_are_read_first() -> None:
    rig = Rig(claim_tree(4), claim_tree(5))

    writes(rig).patch("c-0", ClaimPatch(conditions=(IS_LAUNCHED,)), None)

    assert rig.server.summary == [f"GET {CLAIM}", f"PATCH {CLAIM}/status"]
    assert rig.server.asked[1].body["metadata"]["resourceVersion"] == "4"


def test_where_somebody_was_first_what_is_there_is_read_and_changed() -> None:
    theirs = {"type": "Theirs", "status": "True"}
    rig = Rig(claim_tree(1), CONFLICT, claim_tree(2, conditions=[theirs]), claim_tree(3))
    claims = writes(rig)
    claims.create(a_claim(rig))

    claims.patch("c-0", ClaimPatch(conditions=(IS_LAUNCHED,)), None)

    assert rig.server.summary[1:] == [f"PATCH {CLAIM}/status", f"GET {CLAIM}", f"PATCH {CLAIM}/status"]
    last = rig.server.asked[-1].body
    assert last["metadata"]["resourceVersion"] == "2"
    assert [c["type"] for c in last["status"]["conditions"]] == ["Theirs", LAUNCHED]
    assert len(rig.paused) == 1


def test_where_somebody_is_always_first_it_ends_in_a_conflict() -> None:
    rig = Rig(*[CONFLICT] * 7)

    with pytest.raises(ConflictError):
        writes(rig).patch("c-0", ClaimPatch(labels={"a": "1"}), None)

    assert len(rig.server.asked) == 7
    assert rig.paused == sorted(rig.paused)
    assert 0.63 < sum(rig.paused) < 1.26


def test_a_version_that_does_not_hold_is_not_tried_again() -> None:
    rig = Rig(CONFLICT)

    with pytest.raises(ConflictError):
        writes(rig).patch("c-0", ClaimPatch(labels={"a": "1"}), 1)

    assert len(rig.server.asked) == 1


def test_a_version_that_is_not_that_of_what_is_read_conflicts() -> None:
    rig = Rig(claim_tree(2))

    with pytest.raises(ConflictError):
        writes(rig).patch("c-0", ClaimPatch(conditions=(IS_LAUNCHED,)), 1)

    assert rig.server.summary == [f"GET {CLAIM}"]


def test_who_comes_between_metadata_and_status_is_no_conflict() -> None:
    rig = Rig(claim_tree(2), CONFLICT, claim_tree(3), claim_tree(4))

    claim = writes(rig).patch("c-0", ClaimPatch(labels={"a": "1"}, conditions=(IS_LAUNCHED,)), 1)

    assert claim.resource_version == 4
    assert rig.server.asked[-1].body["metadata"]["resourceVersion"] == "3"


def test_a_claim_that_is_no_nodeclaim_is_a_machine_or_not_there() -> None:
    rig = Rig(GONE, machine_tree(2), machine_tree(3), GONE)
    claims = writes(rig)

    claims.patch("c-0", ClaimPatch(labels={"a": "1"}), None)
    claims.patch("c-0", ClaimPatch(labels={"a": "2"}), None)
    with pytest.raises(NotFoundError):
        claims.delete("c-0", "uid-c-0")
    rig.server.then(GONE, GONE)
    with pytest.raises(NotFoundError):
        claims.delete("c-0", "uid-c-0")

    assert rig.server.summary == [
        f"PATCH {CLAIM}",
        f"PATCH {MACHINE}",
        f"PATCH {MACHINE}",
        f"DELETE {MACHINE}",
        f"DELETE {CLAIM}",
        f"DELETE {MACHINE}",
    ]


def test_a_claim_is_created_in_the_kind_of_its_generation() -> None:
    rig = Rig(machine_tree())

    writes(rig).create(a_claim(rig, Generation.V1ALPHA5))

    assert rig.server.summary == ["POST /apis/karpenter.sh/v1alpha5/machines"]
    assert rig.server.asked[0].body["kind"] == "Machine"


def test_a_deletion_names_the_uid() -> None:
    rig = Rig({})

    writes(rig).delete("c-0", "uid-c-0")

    [asked] = rig.server.asked
    assert (asked.method, asked.path) == ("DELETE", CLAIM)
    assert asked.body["preconditions"] == {"uid": "uid-c-0"}


def test_an_answer_that_is_not_understood_is_told_of_as_far_as_it_is() -> None:
    broken = claim_tree(2)
    broken["spec"]["requirements"] = [{"key": "a", "operator": "Nonsense"}]

    changed = writes(Rig(broken)).patch("c-0", ClaimPatch(labels={"a": "1"}), None)

    assert (changed.name, changed.resource_version) == ("c-0", 2)
    assert changed.unread.startswith('spec.requirements[0].operator: "Nonsense" is not one of')


def test_a_patch_of_nothing_answers_what_is_there() -> None:
    rig = Rig(claim_tree(2), claim_tree(2))

    assert writes(rig).patch("c-0", ClaimPatch(), None).resource_version == 2
    with pytest.raises(ConflictError):
        writes(rig).patch("c-0", ClaimPatch(), 1)


def test_a_deleted_claim_that_something_holds_is_let_go_without_a_look() -> None:
    rig = Rig(claim_tree(1, finalizers=("ours",)), claim_tree(2, finalizers=("ours",)), claim_tree(3))
    claims = writes(rig)
    claims.create(a_claim(rig))

    claims.delete("c-0", "uid-c-0")
    claims.patch("c-0", ClaimPatch(remove_finalizers=("ours",)), None)

    assert rig.server.summary[1:] == [f"DELETE {CLAIM}", f"PATCH {CLAIM}"]
    assert rig.server.asked[-1].body == {"metadata": {"finalizers": [], "resourceVersion": "2"}}


def test_a_deleted_claim_that_is_gone_is_forgotten() -> None:
    status = {"kind": "Status", "status": "Success", "details": {"uid": "uid-c-0"}, "metadata": {}}
    rig = Rig(claim_tree(1), status, GONE, GONE)
    claims = writes(rig)
    claims.create(a_claim(rig))

    claims.delete("c-0", "uid-c-0")
    with pytest.raises(NotFoundError):
        claims.patch("c-0", ClaimPatch(remove_finalizers=("ours",)), None)

    assert rig.server.summary[2:] == [f"GET {CLAIM}", f"GET {MACHINE}"]
