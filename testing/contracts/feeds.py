"""Tests of what every `ClusterReader` must tell whom it feeds."""

from __future__ import annotations

from typing import Final

from treenail.domain.cluster.cluster_facts import Kind, ObjectGone, ObjectSeen, Resynced
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.patches import ClaimPatch
from treenail.testing.contracts.claims import ClusterSubject, a_claim
from treenail.testing.probes import Probe

_FINALIZER: Final = "example.com/wait"


class FeedContract:
    """Derive a class whose name begins with Test, and give it a fixture `subject`, a `ClusterSubject`."""

    def test_a_feed_begins_with_all_claims_there_are(self, subject: ClusterSubject) -> None:
        claims = [subject.writer.create_claim(a_claim(name)) for name in ("c-0", "c-1")]
        listener = Probe()

        subject.reader.feed(listener)
        subject.settle()

        assert _listed(listener) == claims

    def test_every_change_of_an_object_is_told_in_order(self, subject: ClusterSubject) -> None:
        listener = Probe()
        subject.reader.feed(listener)
        subject.settle()

        claim = subject.writer.create_claim(a_claim("c-0", finalizers=(_FINALIZER,)))
        subject.settle()
        patched = subject.writer.patch_claim("c-0", ClaimPatch(labels={"a": "1"}))
        subject.settle()
        subject.writer.delete_claim("c-0", uid=claim.uid)
        marked = subject.reader.get_claim("c-0")
        subject.settle()
        subject.writer.patch_claim("c-0", ClaimPatch(remove_finalizers=(_FINALIZER,)))
        subject.settle()

        assert [fact for fact in listener.received if isinstance(fact, ObjectSeen | ObjectGone)] == [
            ObjectSeen(object=claim),
            ObjectSeen(object=patched),
            ObjectSeen(object=marked),
            ObjectGone(kind=Kind.NODE_CLAIM, key="c-0"),
        ]

    def test_nothing_is_told_after_a_stop(self, subject: ClusterSubject) -> None:
        listener = Probe()
        subject.reader.feed(listener)
        subject.settle()

        subject.writer.create_claim(a_claim("c-0"))
        subject.reader.stop()
        told = len(listener.received)
        subject.settle()

        assert len(listener.received) == told

    def test_a_feed_after_a_stop_begins_anew(self, subject: ClusterSubject) -> None:
        subject.reader.feed(Probe())
        subject.settle()
        subject.reader.stop()
        claim = subject.writer.create_claim(a_claim("c-0"))
        listener = Probe()

        subject.reader.feed(listener)
        subject.settle()

        assert _listed(listener) == [claim]


def _listed(listener: Probe) -> list[NodeClaim]:
    """Return the claims of the first full list, by name."""
    claims = [thing for thing in listener.of(Resynced)[0].objects if isinstance(thing, NodeClaim)]
    return sorted(claims, key=lambda claim: claim.name)
