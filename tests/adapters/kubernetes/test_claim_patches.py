from __future__ import annotations

from tests.adapters.kubernetes.writing import claim_tree, stored
from tests.builders import START, at
from treenail.adapters.kubernetes.claim_writes import Part, metadata_patch, parts_of, status_patch
from treenail.adapters.kubernetes.condition_writes import merged_conditions
from treenail.adapters.kubernetes.new_objects import new_claim
from treenail.adapters.kubernetes.resources import MACHINE, PROVISIONER
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import LAUNCHED, READY, REGISTERED, Condition, NodeClaim, Status
from treenail.domain.model.patches import ClaimPatch
from treenail.domain.model.pods import Owner
from treenail.domain.model.resources import Resources

IS_LAUNCHED = Condition(LAUNCHED, Status.TRUE, "Launched")
LATER = at(60)


def test_what_the_server_gives_is_not_sent_to_it() -> None:
    claim = NodeClaim(
        name="c-0",
        uid="mine",
        resource_version=7,
        pool="default",
        node_class=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"),
        owners=(Owner("NodePool", "default", "uid-pool", block_deletion=True),),
        created_at=START,
        provider_id="aws:///a/i-0",
    )

    written = new_claim(claim)

    assert set(written) == {"apiVersion", "kind", "metadata", "spec"}
    assert set(written["metadata"]) == {"name", "ownerReferences"}
    assert written["metadata"]["ownerReferences"][0]["apiVersion"] == "karpenter.sh/v1"


def test_an_owner_of_the_old_api_is_referred_to_by_its_version() -> None:
    claim = NodeClaim(
        name="m-0",
        generation=Generation.V1ALPHA5,
        pool="default",
        node_class=NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "default"),
        owners=(Owner("Provisioner", "default", "uid-pool"), Owner("Node", "n", "u", api_version="v9")),
        created_at=START,
    )

    owners = new_claim(claim)["metadata"]["ownerReferences"]

    assert [o["apiVersion"] for o in owners] == ["karpenter.sh/v1alpha5", "v9"]


def test_labels_are_written_before_a_claim_says_that_it_is_launched() -> None:
    assert parts_of(ClaimPatch(labels={"a": "1"}, provider_id="i-0")) == (Part.METADATA, Part.STATUS)


def test_the_last_finalizer_goes_after_the_last_word() -> None:
    patch = ClaimPatch(labels={"a": "1"}, node_name="n-0", remove_finalizers=("wait",))

    assert parts_of(patch) == (Part.STATUS, Part.METADATA)


def test_a_part_that_does_not_change_takes_no_request() -> None:
    assert parts_of(ClaimPatch()) == ()
    assert parts_of(ClaimPatch(annotations={"a": "1"})) == (Part.METADATA,)
    assert parts_of(ClaimPatch(allocatable=Resources())) == (Part.STATUS,)


def test_the_finalizers_of_others_are_written_again() -> None:
    known = stored(claim_tree(finalizers=("theirs", "ours")))

    body = metadata_patch(ClaimPatch(add_finalizers=("more",), remove_finalizers=("ours",)), known)

    assert body == {"metadata": {"finalizers": ["theirs", "more"]}}


def test_finalizers_are_left_out_where_none_changes() -> None:
    body = metadata_patch(ClaimPatch(labels={"a": "1"}), stored(claim_tree(finalizers=("theirs",))))

    assert body == {"metadata": {"labels": {"a": "1"}}}


def test_a_size_that_shrinks_names_what_goes() -> None:
    known = stored(claim_tree(capacity={"cpu": "4", "example.com/gpu": "1"}))

    body = status_patch(ClaimPatch(capacity=Resources.parse({"cpu": "2"})), known, LATER)

    assert body == {"status": {"capacity": {"cpu": "2", "example.com/gpu": None}}}


def test_a_text_is_taken_away_by_an_empty_one() -> None:
    body = status_patch(ClaimPatch(node_name="", provider_id="aws:///a/i-0"), None, LATER)

    assert body == {"status": {"nodeName": None, "providerID": "aws:///a/i-0"}}


def test_a_new_condition_has_all_that_the_strictest_schema_asks_for() -> None:
    [written] = merged_conditions(stored(claim_tree()), (Condition(LAUNCHED, Status.TRUE),), LATER)

    assert written == {
        "type": "Launched",
        "status": "True",
        "reason": "Launched",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:01:00Z",
        "observedGeneration": 1,
    }


def test_conditions_of_others_stay_as_they_are_in_their_places() -> None:
    theirs = {"type": "Drifted", "status": "True", "reason": "Theirs", "example.com/more": 1}
    known = stored(claim_tree(conditions=[{"type": LAUNCHED, "status": "False"}, theirs]))

    first, second, third = merged_conditions(known, (Condition(REGISTERED, Status.TRUE), IS_LAUNCHED), LATER)

    assert (first["type"], second, third["type"]) == (LAUNCHED, theirs, REGISTERED)


def test_the_time_changes_with_the_status_alone() -> None:
    before = {"type": READY, "status": "False", "lastTransitionTime": "2026-01-01T00:00:30Z"}
    known = stored(claim_tree(conditions=[before]))

    [same] = merged_conditions(known, (Condition(READY, Status.FALSE, "Other", "why"),), LATER)
    [other] = merged_conditions(known, (Condition(READY, Status.TRUE),), LATER)

    assert same["lastTransitionTime"] == "2026-01-01T00:00:30Z"
    assert (same["reason"], same["message"]) == ("Other", "why")
    assert other["lastTransitionTime"] == "2026-01-01T00:01:00Z"


def test_a_machine_has_other_names_for_conditions() -> None:
    known = stored(claim_tree(conditions=[{"type": "MachineLaunched", "status": "False"}]), MACHINE)

    conditions = merged_conditions(known, (IS_LAUNCHED, Condition(READY, Status.TRUE)), LATER)

    assert [(c["type"], c["status"]) for c in conditions] == [("MachineLaunched", "True"), ("Ready", "True")]


def test_the_old_api_has_no_observed_generation() -> None:
    [written] = merged_conditions(stored(claim_tree(), PROVISIONER), (IS_LAUNCHED,), LATER)

    assert "observedGeneration" not in written
