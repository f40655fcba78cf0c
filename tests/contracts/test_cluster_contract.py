"""What every implementation of `ClusterReader` and `ClusterWriter` does, over any API server there is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Protocol

import pytest

from tests.adapters.fake.cluster.builders import CLASS, a_claim, a_class, a_node, a_pod, a_pool
from tests.adapters.fake.cluster.rig import Listener, Rig
from treenail.adapters.api.workloads import ApiObject, PodDisruptionBudget, Portion
from treenail.domain.cluster_facts import Kind, ObjectGone, ObjectSeen, Resynced, key_of, kind_of
from treenail.domain.events import ClusterEvent, ObjectRef
from treenail.domain.nodes import LAUNCHED, READY, REGISTERED, Condition, Node, NodeClaim, Status, holds
from treenail.domain.pods import LabelSelector, Phase, Pod
from treenail.domain.ports import (
    AlreadyExistsError,
    ClaimPatch,
    ClusterReader,
    ClusterWriter,
    ConflictError,
    InvalidError,
    NodePatch,
    NotFoundError,
    TooManyRequestsError,
)
from treenail.domain.resources import Resources
from treenail.domain.taints import DISRUPTED, UNREGISTERED, Effect, Taint

FINALIZER = "example.com/wait"


class Subject(Protocol):
    """A cluster in which nothing runs but what the tests put there."""

    reader: ClusterReader
    writer: ClusterWriter

    def apply(self, *objects: ApiObject) -> None:
        """Create objects as they are, with their status."""

    def pod(self, name: str) -> Pod | None: ...
    def node(self, name: str) -> Node | None: ...
    def conditions(self, about: ObjectRef) -> tuple[Condition, ...]: ...
    def events(self) -> list[tuple[ClusterEvent, int]]: ...
    def settle(self) -> None:
        """Wait until all that was written is told."""


class FakeSubject:
    def __init__(self) -> None:
        self._rig = Rig()
        self.reader: ClusterReader = self._rig.cluster
        self.writer: ClusterWriter = self._rig.cluster

    def apply(self, *objects: ApiObject) -> None:
        self._rig.cluster.apply(*objects)

    def pod(self, name: str) -> Pod | None:
        return next((p for p in self._rig.cluster.pods() if p.name == name), None)

    def node(self, name: str) -> Node | None:
        return next((n for n in self._rig.cluster.nodes() if n.name == name), None)

    def conditions(self, about: ObjectRef) -> tuple[Condition, ...]:
        return self._rig.cluster.conditions(about)

    def events(self) -> list[tuple[ClusterEvent, int]]:
        return [(record.event, record.count) for record in self._rig.cluster.events()]

    def settle(self) -> None:
        self._rig.run(0.1)


@pytest.fixture(params=[FakeSubject])
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    subject: Subject = request.param()
    yield subject
    subject.reader.stop()


def the_pod(subject: Subject, name: str) -> Pod:
    pod = subject.pod(name)
    assert pod is not None
    return pod


def the_node(subject: Subject, name: str) -> Node:
    node = subject.node(name)
    assert node is not None
    return node


def unbound(name: str) -> Pod:
    """A pod that no scheduler there is looks at."""
    return a_pod(name, scheduler="nobody")


def running(name: str) -> Pod:
    return a_pod(name, node_name="n-0", phase=Phase.RUNNING, ready=True, labels={"app": "web"})


# --- claims


def test_a_created_claim_is_given_its_uid_and_times_by_the_server(subject: Subject) -> None:
    written = subject.writer.create_claim(a_claim("c-0", uid="mine"))

    assert written.uid
    assert written.uid != "mine"
    assert written.resource_version > 0
    assert subject.reader.get_claim("c-0") == written


def test_a_created_claim_keeps_what_it_asks_for_but_not_a_status(subject: Subject) -> None:
    claim = a_claim(
        "c-0",
        labels={"team": "web"},
        annotations={"why": "load"},
        finalizers=(FINALIZER,),
        taints=(Taint("team", Effect.NO_SCHEDULE, "web"),),
        requests=Resources.parse({"cpu": "1155m", "pods": 5}),
        provider_id="aws:///us-east-1a/i-0",
        conditions=(Condition(LAUNCHED, Status.TRUE),),
    )

    written = subject.writer.create_claim(claim)

    assert (written.labels, written.annotations) == (claim.labels, claim.annotations)
    assert (written.finalizers, written.taints) == (claim.finalizers, claim.taints)
    assert (written.requests, written.node_class) == (claim.requests, CLASS)
    assert (written.provider_id, written.conditions) == ("", ())


def test_a_second_claim_of_one_name_is_refused(subject: Subject) -> None:
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
def test_a_claim_that_breaks_its_schema_is_refused(subject: Subject, broken: NodeClaim) -> None:
    with pytest.raises(InvalidError):
        subject.writer.create_claim(broken)

    assert subject.reader.list_claims() == ()


def test_claims_are_listed_as_they_are_now(subject: Subject) -> None:
    subject.writer.create_claim(a_claim("b"))
    subject.writer.create_claim(a_claim("a"))
    subject.writer.patch_claim("b", ClaimPatch(provider_id="aws:///us-east-1a/i-0"))

    listed = {claim.name: claim.provider_id for claim in subject.reader.list_claims()}

    assert listed == {"a": "", "b": "aws:///us-east-1a/i-0"}


def test_a_patch_changes_what_it_names_and_leaves_the_rest(subject: Subject) -> None:
    before = subject.writer.create_claim(a_claim("c-0", labels={"team": "web"}, annotations={"why": "load"}))

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


def test_a_patch_at_an_old_version_conflicts_and_changes_nothing(subject: Subject) -> None:
    old = subject.writer.create_claim(a_claim("c-0"))
    new = subject.writer.patch_claim("c-0", ClaimPatch(labels={"a": "1"}), version=old.resource_version)

    with pytest.raises(ConflictError):
        subject.writer.patch_claim("c-0", ClaimPatch(labels={"a": "2"}), version=old.resource_version)

    assert subject.reader.get_claim("c-0") == new


def test_a_patch_that_changes_nothing_makes_no_new_version(subject: Subject) -> None:
    subject.writer.create_claim(a_claim("c-0"))
    patch = ClaimPatch(labels={"a": "1"}, conditions=(Condition(LAUNCHED, Status.TRUE, "Launched"),))
    first = subject.writer.patch_claim("c-0", patch)

    again = subject.writer.patch_claim("c-0", patch)

    assert again.resource_version == first.resource_version


def test_the_time_of_a_condition_is_that_of_its_last_change_of_status(subject: Subject) -> None:
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


def test_a_patch_of_a_claim_that_is_not_there_says_so(subject: Subject) -> None:
    with pytest.raises(NotFoundError):
        subject.writer.patch_claim("nobody", ClaimPatch(labels={"a": "1"}))
    with pytest.raises(NotFoundError):
        subject.reader.get_claim("nobody")


def test_a_claim_without_finalizers_goes_when_it_is_deleted(subject: Subject) -> None:
    claim = subject.writer.create_claim(a_claim("c-0"))

    subject.writer.delete_claim("c-0", uid=claim.uid)

    assert subject.reader.list_claims() == ()


def test_a_claim_with_a_finalizer_is_deleting_until_its_last_one_goes(subject: Subject) -> None:
    claim = subject.writer.create_claim(a_claim("c-0", finalizers=(FINALIZER,)))

    subject.writer.delete_claim("c-0", uid=claim.uid)
    marked = subject.reader.get_claim("c-0")
    subject.writer.delete_claim("c-0", uid=claim.uid)
    again = subject.reader.get_claim("c-0")
    subject.writer.patch_claim("c-0", ClaimPatch(remove_finalizers=(FINALIZER,)))

    assert marked.leaving
    assert again.deleting_since == marked.deleting_since
    assert subject.reader.list_claims() == ()


def test_what_is_deleting_takes_no_new_finalizer(subject: Subject) -> None:
    claim = subject.writer.create_claim(a_claim("c-0", finalizers=(FINALIZER,)))
    subject.writer.delete_claim("c-0", uid=claim.uid)

    with pytest.raises(InvalidError):
        subject.writer.patch_claim("c-0", ClaimPatch(add_finalizers=("example.com/more",)))


def test_deleting_a_claim_by_the_uid_of_an_earlier_one_conflicts(subject: Subject) -> None:
    first = subject.writer.create_claim(a_claim("c-0"))
    subject.writer.delete_claim("c-0", uid=first.uid)
    second = subject.writer.create_claim(a_claim("c-0"))

    with pytest.raises(ConflictError):
        subject.writer.delete_claim("c-0", uid=first.uid)

    assert subject.reader.list_claims() == (second,)


# --- nodes


def test_a_node_is_changed_as_its_patch_says(subject: Subject) -> None:
    subject.apply(a_node("n-0", taints=(UNREGISTERED,), labels={"team": "web"}))
    claim = subject.writer.create_claim(a_claim("c-0"))

    patched = subject.writer.patch_node(
        "n-0",
        NodePatch(
            labels={"zone": "a"},
            annotations={"why": "empty"},
            add_taints=(DISRUPTED,),
            remove_taints=(UNREGISTERED,),
            unschedulable=True,
            owner=ObjectRef("NodeClaim", claim.name, uid=claim.uid),
            add_finalizers=(FINALIZER,),
        ),
    )

    assert patched == subject.node("n-0")
    assert {"team": "web", "zone": "a"}.items() <= patched.labels.items()
    assert patched.annotations["why"] == "empty"
    assert DISRUPTED in patched.taints
    assert UNREGISTERED not in patched.taints
    assert patched.unschedulable
    assert [o.uid for o in patched.owners] == [claim.uid]
    assert FINALIZER in patched.finalizers


def test_a_node_patched_twice_alike_is_changed_once(subject: Subject) -> None:
    subject.apply(a_node("n-0"))
    patch = NodePatch(add_taints=(DISRUPTED,), add_finalizers=(FINALIZER,), unschedulable=True)
    first = subject.writer.patch_node("n-0", patch)

    again = subject.writer.patch_node("n-0", patch)

    assert again == first


def test_a_node_patch_at_an_old_version_conflicts(subject: Subject) -> None:
    subject.apply(a_node("n-0"))
    old = the_node(subject, "n-0").resource_version
    subject.writer.patch_node("n-0", NodePatch(labels={"a": "1"}), version=old)

    with pytest.raises(ConflictError):
        subject.writer.patch_node("n-0", NodePatch(labels={"a": "2"}), version=old)


def test_a_node_with_a_finalizer_is_deleting_until_it_goes(subject: Subject) -> None:
    subject.apply(a_node("n-0"))
    node = subject.writer.patch_node("n-0", NodePatch(add_finalizers=(FINALIZER,)))

    with pytest.raises(ConflictError):
        subject.writer.delete_node("n-0", uid="another")
    subject.writer.delete_node("n-0", uid=node.uid)
    marked = the_node(subject, "n-0")
    subject.writer.patch_node("n-0", NodePatch(remove_finalizers=(FINALIZER,)))

    assert marked.deleting_since is not None
    assert subject.node("n-0") is None
    with pytest.raises(NotFoundError):
        subject.writer.delete_node("n-0", uid=node.uid)


# --- pods


def test_a_pod_is_bound_once(subject: Subject) -> None:
    subject.apply(a_node("n-0"), a_node("n-1"), unbound("web"))
    pod = the_pod(subject, "web")

    subject.writer.bind_pod("default", "web", uid=pod.uid, node="n-0")
    with pytest.raises(ConflictError):
        subject.writer.bind_pod("default", "web", uid=pod.uid, node="n-1")

    bound = the_pod(subject, "web")
    assert bound.node_name == "n-0"
    assert bound.scheduled_at is not None


def test_a_pod_is_not_bound_under_another_uid(subject: Subject) -> None:
    subject.apply(a_node("n-0"), unbound("web"))

    with pytest.raises(ConflictError):
        subject.writer.bind_pod("default", "web", uid="another", node="n-0")
    with pytest.raises(NotFoundError):
        subject.writer.bind_pod("default", "nobody", uid="any", node="n-0")

    assert the_pod(subject, "web").node_name == ""


def test_a_pod_that_stands_nowhere_goes_at_once_when_deleted(subject: Subject) -> None:
    subject.apply(unbound("web"))
    pod = the_pod(subject, "web")

    subject.writer.delete_pod("default", "web", uid=pod.uid, grace_seconds=30)

    assert subject.pod("web") is None


def test_a_bound_pod_bears_the_end_of_its_grace_when_deleted(subject: Subject) -> None:
    subject.apply(a_node("n-0"), running("web"))
    pod = the_pod(subject, "web")

    subject.writer.delete_pod("default", "web", uid=pod.uid, grace_seconds=300)
    first = the_pod(subject, "web").deleting_since
    subject.writer.delete_pod("default", "web", uid=pod.uid, grace_seconds=100)
    second = the_pod(subject, "web").deleting_since

    assert first is not None
    assert second is not None
    assert timedelta(seconds=295) < first - pod.created_at < timedelta(seconds=310)
    assert timedelta(seconds=95) < second - pod.created_at < timedelta(seconds=110)


def test_a_pod_without_grace_goes_at_once_when_deleted(subject: Subject) -> None:
    subject.apply(a_node("n-0"), running("web"))
    pod = the_pod(subject, "web")

    with pytest.raises(ConflictError):
        subject.writer.delete_pod("default", "web", uid="another", grace_seconds=0)
    subject.writer.delete_pod("default", "web", uid=pod.uid, grace_seconds=0)

    assert subject.pod("web") is None


def test_an_evicted_pod_is_deleted_with_its_own_grace(subject: Subject) -> None:
    subject.apply(a_node("n-0"), running("web"))
    pod = the_pod(subject, "web")

    with pytest.raises(ConflictError):
        subject.writer.evict_pod("default", "web", uid="another")
    subject.writer.evict_pod("default", "web", uid=pod.uid)

    deleting = the_pod(subject, "web").deleting_since
    assert deleting is not None
    assert timedelta(seconds=25) < deleting - pod.created_at < timedelta(seconds=40)


def test_a_budget_forbids_evictions_beyond_it(subject: Subject) -> None:
    budget = PodDisruptionBudget(
        name="web",
        selector=LabelSelector(match_labels=(("app", "web"),)),
        min_available=Portion(1),
    )
    subject.apply(a_node("n-0"), running("web-0"), running("web-1"), budget)
    subject.settle()
    first, second = the_pod(subject, "web-0"), the_pod(subject, "web-1")

    subject.writer.evict_pod("default", "web-0", uid=first.uid)
    with pytest.raises(TooManyRequestsError):
        subject.writer.evict_pod("default", "web-1", uid=second.uid)
    subject.writer.delete_pod("default", "web-1", uid=second.uid, grace_seconds=0)

    assert subject.pod("web-1") is None


# --- events and conditions


def test_equal_events_are_counted(subject: Subject) -> None:
    event = ClusterEvent(ObjectRef("NodePool", "default"), "Refused", "no room", warning=True)
    other = ClusterEvent(ObjectRef("NodePool", "default"), "Refused", "no money", warning=True)

    for published in (event, other, event):
        subject.writer.publish(published)

    assert subject.events() == [(event, 2), (other, 1)]


@pytest.mark.parametrize("about", [ObjectRef("NodePool", "default"), ObjectRef("EC2NodeClass", "default")])
def test_a_condition_is_set_and_replaced(subject: Subject, about: ObjectRef) -> None:
    subject.apply(a_pool("default"), a_class("default"))

    subject.writer.set_condition(about, Condition(READY, Status.FALSE, "NoSubnets", "none match"))
    subject.writer.set_condition(about, Condition("Valid", Status.TRUE))
    subject.writer.set_condition(about, Condition(READY, Status.TRUE))

    conditions = subject.conditions(about)
    assert sorted(c.type for c in conditions) == [READY, "Valid"]
    assert holds(conditions, READY)
    assert all(c.since is not None for c in conditions)


def test_a_condition_of_what_is_not_there_is_refused(subject: Subject) -> None:
    with pytest.raises(NotFoundError):
        subject.writer.set_condition(ObjectRef("NodePool", "nobody"), Condition(READY, Status.TRUE))


# --- the watch


def test_a_feed_begins_with_all_there_is(subject: Subject) -> None:
    listener = Listener()
    subject.apply(a_pool("default"), a_class("default"), a_node("n-0"), unbound("web"))
    subject.writer.create_claim(a_claim("c-0"))

    subject.reader.feed(listener)
    subject.settle()

    seen = {(kind_of(thing), getattr(thing, "name", "")) for thing in listener.of(Resynced)[0].objects}
    assert seen == {
        (Kind.NODE_POOL, "default"),
        (Kind.NODE_CLASS, ""),
        (Kind.NODE, "n-0"),
        (Kind.NODE_CLAIM, "c-0"),
        (Kind.POD, "web"),
    }


def test_every_change_of_an_object_is_told_in_order(subject: Subject) -> None:
    listener = Listener()
    subject.reader.feed(listener)
    subject.settle()

    claim = subject.writer.create_claim(a_claim("c-0", finalizers=(FINALIZER,)))
    patched = subject.writer.patch_claim("c-0", ClaimPatch(labels={"a": "1"}))
    subject.settle()
    subject.writer.delete_claim("c-0", uid=claim.uid)
    marked = subject.reader.get_claim("c-0")
    subject.writer.patch_claim("c-0", ClaimPatch(remove_finalizers=(FINALIZER,)))
    subject.settle()

    assert [f for f in listener.facts if isinstance(f, ObjectSeen | ObjectGone)] == [
        ObjectSeen(object=claim),
        ObjectSeen(object=patched),
        ObjectSeen(object=marked),
        ObjectGone(kind=Kind.NODE_CLAIM, key="c-0"),
    ]


def test_a_pod_that_goes_is_told_by_its_uid(subject: Subject) -> None:
    listener = Listener()
    subject.apply(unbound("web"))
    pod = the_pod(subject, "web")
    subject.reader.feed(listener)
    subject.settle()

    subject.writer.delete_pod("default", "web", uid=pod.uid, grace_seconds=0)
    subject.settle()

    assert listener.of(ObjectGone) == [ObjectGone(kind=Kind.POD, key=key_of(pod))]


def test_nothing_is_told_after_a_stop(subject: Subject) -> None:
    listener = Listener()
    subject.reader.feed(listener)
    subject.settle()
    told = len(listener.facts)

    subject.writer.create_claim(a_claim("c-0"))
    subject.reader.stop()
    subject.settle()

    assert len(listener.facts) == told


def test_a_feed_after_a_stop_begins_anew(subject: Subject) -> None:
    subject.reader.feed(Listener())
    subject.settle()
    subject.reader.stop()
    claim = subject.writer.create_claim(a_claim("c-0"))
    listener = Listener()

    subject.reader.feed(listener)
    subject.settle()

    assert listener.of(Resynced)[0].objects == (claim,)
