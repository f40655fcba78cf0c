"""Tests of what every `ClusterReader` and `ClusterWriter` must do about NodeClaims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from treenail.domain.model.errors import AlreadyExistsError, ConflictError, InvalidError, NotFoundError
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import DRAINED, LAUNCHED, REGISTERED, Condition, NodeClaim, Status, holds
from treenail.domain.model.patches import ClaimPatch
from treenail.domain.model.pods import Owner
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Taint
from treenail.domain.ports import ClusterReader, ClusterWriter

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_NODE_CLASS: Final = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
_FINALIZER: Final = "example.com/wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSubject:
    """A cluster without claims, with the CRDs of Karpenter, as it is read and written.

    `settle` returns when all that was written so far has been told to whoever the reader feeds. The reader
    is stopped after each test by whoever made it.
    """

    reader: ClusterReader
    writer: ClusterWriter
    settle: Callable[[], None]


def a_claim(name: str, **fields: Any) -> NodeClaim:  # noqa: ANN401 (any field of a claim)
    """Return a claim of the pool default that nobody has written yet."""
    return NodeClaim(name=name, pool="default", node_class=_NODE_CLASS, created_at=_START, **fields)


class ClaimContract:
    """Derive a class whose name begins with Test, and give it a fixture `subject`, a `ClusterSubject`."""

    def test_a_created_claim_is_given_its_uid_and_times_by_the_server(self, subject: ClusterSubject) -> None:
        written = subject.writer.create_claim(a_claim("c-0", uid="mine"))

        assert written.uid
        assert written.uid != "mine"
        assert written.resource_version > 0
        assert subject.reader.get_claim("c-0") == written

    def test_a_created_claim_keeps_what_it_asks_for_but_not_a_status(self, subject: ClusterSubject) -> None:
        claim = a_claim(
            "c-0",
            labels={"team": "web"},
            annotations={"why": "load"},
            finalizers=(_FINALIZER,),
            taints=(Taint("team", Effect.NO_SCHEDULE, "web"),),
            requests=Resources.parse({"cpu": "1155m", "pods": 5}),
            provider_id="aws:///us-east-1a/i-0",
            conditions=(Condition(LAUNCHED, Status.TRUE),),
        )

        written = subject.writer.create_claim(claim)

        assert (written.labels, written.annotations) == (claim.labels, claim.annotations)
        assert (written.finalizers, written.taints) == (claim.finalizers, claim.taints)
        assert (written.requests, written.node_class) == (claim.requests, _NODE_CLASS)
        assert (written.provider_id, written.conditions) == ("", ())

    def test_a_second_claim_of_one_name_is_refused(self, subject: ClusterSubject) -> None:
        first = subject.writer.create_claim(a_claim("c-0"))

        with pytest.raises(AlreadyExistsError):
            subject.writer.create_claim(a_claim("c-0"))

        assert subject.reader.list_claims() == (first,)

    @pytest.mark.parametrize(
        "broken",
        [
            a_claim("No_Name"),
            a_claim("c-0", labels={"team": "not a value!"}),
            a_claim("c-0", taints=(Taint("", Effect.NO_SCHEDULE),)),
            a_claim("c-0", requests=Resources({"cpu": -1})),
        ],
        ids=["name", "label", "taint", "requests"],
    )
    def test_a_claim_that_breaks_its_schema_is_refused(
        self, subject: ClusterSubject, broken: NodeClaim
    ) -> None:
        with pytest.raises(InvalidError):
            subject.writer.create_claim(broken)

        assert subject.reader.list_claims() == ()

    def test_claims_are_listed_as_they_are_now(self, subject: ClusterSubject) -> None:
        subject.writer.create_claim(a_claim("b"))
        subject.writer.create_claim(a_claim("a"))
        subject.writer.patch_claim("b", ClaimPatch(provider_id="aws:///us-east-1a/i-0"))

        listed = {claim.name: claim.provider_id for claim in subject.reader.list_claims()}

        assert listed == {"a": "", "b": "aws:///us-east-1a/i-0"}

    def test_a_patch_changes_what_it_names_and_leaves_the_rest(self, subject: ClusterSubject) -> None:
        before = subject.writer.create_claim(
            a_claim("c-0", labels={"team": "web"}, annotations={"why": "load"})
        )

        patched = subject.writer.patch_claim(
            "c-0",
            ClaimPatch(
                labels={"zone": "a"},
                annotations={"why": "more"},
                provider_id="aws:///us-east-1a/i-0",
                node_name="node-0",
                image_id="ami-0",
                capacity=Resources.parse({"cpu": "4"}),
                allocatable=Resources.parse({"cpu": "3900m"}),
            ),
        )

        assert patched == subject.reader.get_claim("c-0")
        assert patched.labels == {"team": "web", "zone": "a"}
        assert patched.annotations == {"why": "more"}
        assert (patched.provider_id, patched.node_name, patched.image_id) == (
            "aws:///us-east-1a/i-0",
            "node-0",
            "ami-0",
        )
        assert (patched.capacity["cpu"], patched.allocatable["cpu"]) == (4000, 3900)
        assert patched.uid == before.uid
        assert patched.resource_version > before.resource_version

    def test_labels_are_taken_off_while_others_come(self, subject: ClusterSubject) -> None:
        subject.writer.create_claim(a_claim("c-0", labels={"team": "web", "reservation": "cr-1"}))

        patched = subject.writer.patch_claim(
            "c-0", ClaimPatch(labels={"team": "ml"}, remove_labels=("reservation", "never-there"))
        )

        assert patched.labels == {"team": "ml"}
        assert patched == subject.reader.get_claim("c-0")

    def test_a_condition_is_taken_off_while_others_come_and_stay(self, subject: ClusterSubject) -> None:
        subject.writer.create_claim(a_claim("c-0"))
        shown = (
            Condition("Launched", Status.TRUE, "Launched"),
            Condition("Drifted", Status.TRUE, "AMIDrift"),
        )
        subject.writer.patch_claim("c-0", ClaimPatch(conditions=shown))

        come = (Condition("Registered", Status.TRUE, "Registered"),)
        patch = ClaimPatch(conditions=come, remove_conditions=("Drifted", "NeverThere"))
        patched = subject.writer.patch_claim("c-0", patch)

        assert [one.type for one in patched.conditions] == ["Launched", "Registered"]
        assert patched == subject.reader.get_claim("c-0")

    def test_when_a_pod_last_came_or_left_is_kept_to_the_second(self, subject: ClusterSubject) -> None:
        subject.writer.create_claim(a_claim("c-0", last_pod_event_at=_START))
        assert subject.reader.get_claim("c-0").last_pod_event_at is None

        subject.writer.patch_claim("c-0", ClaimPatch(last_pod_event_at=_START + timedelta(seconds=90.7)))
        patched = subject.writer.patch_claim("c-0", ClaimPatch(labels={"zone": "a"}))

        assert patched.last_pod_event_at == _START + timedelta(seconds=90)

    def test_a_patch_at_an_old_version_conflicts_and_changes_nothing(self, subject: ClusterSubject) -> None:
        old = subject.writer.create_claim(a_claim("c-0"))
        new = subject.writer.patch_claim("c-0", ClaimPatch(labels={"a": "1"}), version=old.resource_version)

        with pytest.raises(ConflictError):
            subject.writer.patch_claim("c-0", ClaimPatch(labels={"a": "2"}), version=old.resource_version)

        assert subject.reader.get_claim("c-0") == new

    def test_a_patch_that_changes_nothing_makes_no_new_version(self, subject: ClusterSubject) -> None:
        subject.writer.create_claim(a_claim("c-0"))
        patch = ClaimPatch(labels={"a": "1"}, conditions=(Condition(LAUNCHED, Status.TRUE, "Launched"),))
        first = subject.writer.patch_claim("c-0", patch)

        again = subject.writer.patch_claim("c-0", patch)

        assert again.resource_version == first.resource_version

    def test_the_time_of_a_condition_is_that_of_its_last_change_of_status(
        self, subject: ClusterSubject
    ) -> None:
        subject.writer.create_claim(a_claim("c-0"))

        def set_to(status: Status, message: str) -> Condition:
            condition = Condition(REGISTERED, status, "Because", message)
            [kept] = subject.writer.patch_claim("c-0", ClaimPatch(conditions=(condition,))).conditions
            subject.settle()
            return kept

        first = set_to(Status.UNKNOWN, "no node yet")
        same = set_to(Status.UNKNOWN, "still none")
        other = set_to(Status.TRUE, "")

        assert first.since is not None
        assert same.message == "still none"
        assert same.since == first.since
        assert other.since is not None
        assert other.since >= first.since

    def test_a_patch_of_a_claim_that_is_not_there_says_so(self, subject: ClusterSubject) -> None:
        with pytest.raises(NotFoundError):
            subject.writer.patch_claim("nobody", ClaimPatch(labels={"a": "1"}))
        with pytest.raises(NotFoundError):
            subject.reader.get_claim("nobody")

    def test_a_claim_without_finalizers_goes_when_it_is_deleted(self, subject: ClusterSubject) -> None:
        claim = subject.writer.create_claim(a_claim("c-0"))

        subject.writer.delete_claim("c-0", uid=claim.uid)

        assert subject.reader.list_claims() == ()

    def test_a_claim_with_a_finalizer_is_deleting_until_its_last_one_goes(
        self, subject: ClusterSubject
    ) -> None:
        claim = subject.writer.create_claim(a_claim("c-0", finalizers=(_FINALIZER,)))

        subject.writer.delete_claim("c-0", uid=claim.uid)
        marked = subject.reader.get_claim("c-0")
        subject.writer.delete_claim("c-0", uid=claim.uid)
        again = subject.reader.get_claim("c-0")
        subject.writer.patch_claim("c-0", ClaimPatch(remove_finalizers=(_FINALIZER,)))

        assert marked.leaving
        assert again.deleting_since == marked.deleting_since
        assert subject.reader.list_claims() == ()

    def test_what_is_deleting_takes_no_new_finalizer(self, subject: ClusterSubject) -> None:
        claim = subject.writer.create_claim(a_claim("c-0", finalizers=(_FINALIZER,)))
        subject.writer.delete_claim("c-0", uid=claim.uid)

        with pytest.raises(InvalidError):
            subject.writer.patch_claim("c-0", ClaimPatch(add_finalizers=("example.com/more",)))

    def test_deleting_a_claim_by_the_uid_of_an_earlier_one_conflicts(self, subject: ClusterSubject) -> None:
        first = subject.writer.create_claim(a_claim("c-0"))
        subject.writer.delete_claim("c-0", uid=first.uid)
        second = subject.writer.create_claim(a_claim("c-0"))

        with pytest.raises(ConflictError):
            subject.writer.delete_claim("c-0", uid=first.uid)

        assert subject.reader.list_claims() == (second,)

    def test_a_finalizer_comes_and_goes_without_those_of_others(self, subject: ClusterSubject) -> None:
        subject.writer.create_claim(a_claim("c-0", finalizers=(_FINALIZER, "example.com/other")))

        subject.writer.patch_claim("c-0", ClaimPatch(add_finalizers=("example.com/more", _FINALIZER)))
        patched = subject.writer.patch_claim(
            "c-0", ClaimPatch(remove_finalizers=(_FINALIZER, "example.com/nobodys"))
        )

        assert patched.finalizers == ("example.com/other", "example.com/more")

    def test_a_condition_comes_beside_those_of_other_types(self, subject: ClusterSubject) -> None:
        subject.writer.create_claim(a_claim("c-0"))

        subject.writer.patch_claim(
            "c-0", ClaimPatch(conditions=(Condition(LAUNCHED, Status.TRUE, "Launched"),))
        )
        patched = subject.writer.patch_claim(
            "c-0", ClaimPatch(conditions=(Condition(REGISTERED, Status.FALSE, "NoNode", "none came"),))
        )

        told = [(c.type, c.status, c.reason, c.message) for c in patched.conditions]
        assert told == [
            (LAUNCHED, Status.TRUE, "Launched", ""),
            (REGISTERED, Status.FALSE, "NoNode", "none came"),
        ]

    def test_a_patch_at_a_version_changes_metadata_and_status(self, subject: ClusterSubject) -> None:
        claim = subject.writer.create_claim(a_claim("c-0"))
        patch = ClaimPatch(
            labels={"zone": "a"},
            provider_id="aws:///us-east-1a/i-0",
            conditions=(Condition(LAUNCHED, Status.TRUE, "Launched"),),
        )

        patched = subject.writer.patch_claim("c-0", patch, version=claim.resource_version)

        assert (patched.labels, patched.provider_id) == ({"zone": "a"}, "aws:///us-east-1a/i-0")
        assert [c.type for c in patched.conditions] == [LAUNCHED]
        with pytest.raises(ConflictError):
            subject.writer.patch_claim("c-0", patch, version=claim.resource_version)

    def test_a_status_at_an_old_version_conflicts(self, subject: ClusterSubject) -> None:
        old = subject.writer.create_claim(a_claim("c-0"))
        new = subject.writer.patch_claim("c-0", ClaimPatch(labels={"a": "1"}))
        patch = ClaimPatch(conditions=(Condition(LAUNCHED, Status.TRUE, "Launched"),))

        with pytest.raises(ConflictError):
            subject.writer.patch_claim("c-0", patch, version=old.resource_version)

        assert subject.reader.get_claim("c-0") == new

    def test_a_new_size_takes_the_place_of_the_old(self, subject: ClusterSubject) -> None:
        subject.writer.create_claim(a_claim("c-0"))
        subject.writer.patch_claim(
            "c-0", ClaimPatch(capacity=Resources.parse({"cpu": "4", "example.com/gpu": "1"}))
        )

        patched = subject.writer.patch_claim("c-0", ClaimPatch(capacity=Resources.parse({"cpu": "2"})))

        assert patched.capacity == Resources.parse({"cpu": "2"})

    def test_a_finalizer_goes_together_with_a_last_word(self, subject: ClusterSubject) -> None:
        claim = subject.writer.create_claim(a_claim("c-0", finalizers=(_FINALIZER,)))
        subject.writer.delete_claim("c-0", uid=claim.uid)

        last = subject.writer.patch_claim(
            "c-0",
            ClaimPatch(
                conditions=(Condition(DRAINED, Status.TRUE, "Drained"),), remove_finalizers=(_FINALIZER,)
            ),
        )

        assert holds(last.conditions, DRAINED)
        assert subject.reader.list_claims() == ()

    def test_a_claim_of_the_old_api_is_known_by_its_name_too(self, subject: ClusterSubject) -> None:
        template = NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "default")
        owner = Owner("Provisioner", "default", "some-uid", block_deletion=True)
        machine = replace(
            a_claim("m-0", labels={"karpenter.sh/provisioner-name": "default"}, owners=(owner,)),
            generation=Generation.V1ALPHA5,
            node_class=template,
        )

        made = subject.writer.create_claim(machine)
        subject.writer.patch_claim(
            "m-0",
            ClaimPatch(labels={"zone": "a"}, conditions=(Condition(LAUNCHED, Status.TRUE, "Launched"),)),
        )
        read = subject.reader.get_claim("m-0")
        subject.writer.delete_claim("m-0", uid=made.uid)

        assert (read.generation, read.pool, read.node_class) == (Generation.V1ALPHA5, "default", template)
        assert [(o.kind, o.name, o.uid) for o in read.owners] == [("Provisioner", "default", "some-uid")]
        assert read.labels["zone"] == "a"
        assert holds(read.conditions, LAUNCHED)
        assert subject.reader.list_claims() == ()
