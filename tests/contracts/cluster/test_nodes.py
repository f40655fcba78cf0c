from __future__ import annotations

import pytest

from tests.adapters.fake.cluster.builders import a_claim, a_node
from tests.contracts.cluster.subject import FINALIZER, Subject, the_node
from treenail.domain.model.errors import AlreadyExistsError, ConflictError, InvalidError, NotFoundError
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.taints import DISRUPTED, NOT_READY, UNREGISTERED, Effect, Taint


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
    old = the_node(subject, "n-0")
    subject.writer.patch_node("n-0", NodePatch(labels={"a": "1"}), seen=old)

    with pytest.raises(ConflictError):
        subject.writer.patch_node("n-0", NodePatch(labels={"a": "2"}), seen=old)


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


def test_a_created_node_has_its_size_at_once(subject: Subject) -> None:
    node = a_node(
        "n-0",
        labels={"team": "web"},
        taints=(UNREGISTERED,),
        provider_id="aws:///us-east-1a/i-0",
        finalizers=(FINALIZER,),
        uid="mine",
    )

    written = subject.writer.create_node(node)

    assert written.uid == the_node(subject, "n-0").uid
    assert written.uid not in ("", "mine")
    assert {"team": "web"}.items() <= written.labels.items()
    assert (written.provider_id, written.finalizers) == (node.provider_id, (FINALIZER,))
    assert (written.capacity, written.allocatable) == (node.capacity, node.allocatable)
    assert UNREGISTERED in written.taints
    assert NOT_READY in written.taints


def test_a_second_node_of_one_name_is_refused(subject: Subject) -> None:
    first = subject.writer.create_node(a_node("n-0"))

    with pytest.raises(AlreadyExistsError):
        subject.writer.create_node(a_node("n-0"))
    with pytest.raises(InvalidError):
        subject.writer.create_node(a_node("No_Name"))

    assert [n.uid for n in subject.reader.list_nodes()] == [first.uid]


def test_a_second_node_of_one_machine_is_kept(subject: Subject) -> None:
    subject.apply(a_node("n-0", provider_id="aws:///a/i-1"))
    subject.apply(a_node("n-1", provider_id="aws:///a/i-1"))

    assert [the_node(subject, name).provider_id for name in ("n-0", "n-1")] == ["aws:///a/i-1"] * 2


def test_a_label_is_taken_off_and_a_cordon_lifted(subject: Subject) -> None:
    subject.apply(a_node("n-0", labels={"team": "web", "zone": "a"}, unschedulable=True))

    patched = subject.writer.patch_node(
        "n-0", NodePatch(labels={"zone": "b"}, remove_labels=("team", "nobodys"), unschedulable=False)
    )

    assert "team" not in patched.labels
    assert patched.labels["zone"] == "b"
    assert not patched.unschedulable


def test_an_annotation_is_taken_off_and_others_stay(subject: Subject) -> None:
    subject.apply(a_node("n-0", annotations={"why": "empty", "since": "noon"}))

    patched = subject.writer.patch_node(
        "n-0", NodePatch(annotations={"who": "we"}, remove_annotations=("since", "nobodys"))
    )

    assert {"why": "empty", "who": "we"}.items() <= patched.annotations.items()
    assert not {"since", "nobodys"} & set(patched.annotations)


def test_what_others_put_on_a_node_stays(subject: Subject) -> None:
    theirs = Taint("team", Effect.NO_SCHEDULE, "web")
    subject.apply(a_node("n-0", taints=(theirs, UNREGISTERED), finalizers=(FINALIZER, "example.com/other")))

    subject.writer.patch_node("n-0", NodePatch(add_finalizers=("example.com/more",), add_taints=(DISRUPTED,)))
    patched = subject.writer.patch_node(
        "n-0", NodePatch(remove_finalizers=(FINALIZER,), remove_taints=(UNREGISTERED, DISRUPTED))
    )

    assert set(patched.finalizers) == {"example.com/other", "example.com/more"}
    assert theirs in patched.taints
    assert not {UNREGISTERED, DISRUPTED} & set(patched.taints)


def test_a_taint_takes_the_place_of_one_of_its_key_and_effect(subject: Subject) -> None:
    subject.apply(a_node("n-0", taints=(Taint("team", Effect.NO_SCHEDULE, "web"),)))
    other = Taint("team", Effect.NO_EXECUTE, "web")
    newer = Taint("team", Effect.NO_SCHEDULE, "db")

    patched = subject.writer.patch_node("n-0", NodePatch(add_taints=(other, newer)))

    assert sorted(t for t in patched.taints if t.key == "team") == sorted((other, newer))


def test_an_owner_is_added_once(subject: Subject) -> None:
    claim = subject.writer.create_claim(a_claim("c-0"))
    subject.apply(a_node("n-0"))
    owner = ObjectRef("NodeClaim", claim.name, uid=claim.uid)

    first = subject.writer.patch_node("n-0", NodePatch(owner=owner))
    again = subject.writer.patch_node("n-0", NodePatch(owner=owner))

    assert [(o.kind, o.name, o.uid, o.controller) for o in again.owners] == [
        ("NodeClaim", "c-0", claim.uid, False)
    ]
    assert again == first


def test_a_taint_at_an_old_version_conflicts(subject: Subject) -> None:
    subject.apply(a_node("n-0"))
    old = the_node(subject, "n-0")
    subject.writer.patch_node("n-0", NodePatch(labels={"a": "1"}))

    with pytest.raises(ConflictError):
        subject.writer.patch_node("n-0", NodePatch(add_taints=(DISRUPTED,)), seen=old)

    assert DISRUPTED not in the_node(subject, "n-0").taints


def test_a_node_that_is_deleting_takes_no_new_finalizer(subject: Subject) -> None:
    subject.apply(a_node("n-0", finalizers=(FINALIZER,)))
    subject.writer.delete_node("n-0", uid=the_node(subject, "n-0").uid)

    with pytest.raises(InvalidError):
        subject.writer.patch_node("n-0", NodePatch(add_finalizers=("example.com/more",)))


def test_a_patch_of_a_node_that_is_not_there_says_so(subject: Subject) -> None:
    with pytest.raises(NotFoundError):
        subject.writer.patch_node("nobody", NodePatch(labels={"a": "1"}))
    with pytest.raises(NotFoundError):
        subject.writer.patch_node("nobody", NodePatch(add_taints=(DISRUPTED,)))
