from __future__ import annotations

from tests.adapters.fake.cluster.builders import a_claim, a_class, a_node, a_pool
from tests.adapters.fake.cluster.rig import Listener
from tests.contracts.cluster.subject import FINALIZER, Subject, the_pod, unbound
from treenail.domain.cluster_facts import Kind, ObjectGone, ObjectSeen, Resynced, key_of, kind_of
from treenail.domain.ports import ClaimPatch


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
    subject.settle()
    patched = subject.writer.patch_claim("c-0", ClaimPatch(labels={"a": "1"}))
    subject.settle()
    subject.writer.delete_claim("c-0", uid=claim.uid)
    marked = subject.reader.get_claim("c-0")
    subject.settle()
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

    subject.writer.create_claim(a_claim("c-0"))
    subject.reader.stop()
    told = len(listener.facts)
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
