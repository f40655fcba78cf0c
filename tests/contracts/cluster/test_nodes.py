from __future__ import annotations

import pytest

from tests.adapters.fake.cluster.builders import a_claim, a_node
from tests.contracts.cluster.subject import FINALIZER, Subject, the_node
from treenail.domain.events import ObjectRef
from treenail.domain.ports import ConflictError, NodePatch, NotFoundError
from treenail.domain.taints import DISRUPTED, UNREGISTERED


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
