from __future__ import annotations

from dataclasses import replace

from tests.builders import node_pool
from treenail.domain.cluster.cluster_facts import Kind, ObjectSetAside, Resynced
from treenail.domain.cluster.set_aside import ObjectUnderstood, SetAside, warning_of
from treenail.domain.model.events import ObjectRef

POOL = ObjectRef(kind="NodePool", name="default")
BROKEN = ObjectSetAside(
    kind=Kind.NODE_POOL, key="default", resource_version=3, about=POOL, problem="spec.weight: 101 is too much"
)


def test_an_object_is_news_once_and_again_when_something_else_is_wrong_with_it() -> None:
    aside = SetAside()

    assert aside.note(BROKEN)
    assert not aside.note(replace(BROKEN, resource_version=4))
    assert aside.note(replace(BROKEN, problem="spec.limits.cpu: is no quantity"))


def test_an_object_put_right_is_told_of_once() -> None:
    aside = SetAside()
    aside.note(BROKEN)

    assert aside.understand(node_pool("other")) is None
    assert aside.understand(node_pool("default")) == ObjectUnderstood(kind=Kind.NODE_POOL, about=POOL)
    assert aside.understand(node_pool("default")) is None
    assert len(aside) == 0


def test_an_object_that_is_gone_is_news_when_it_comes_back_wrong() -> None:
    aside = SetAside()
    aside.note(BROKEN)

    assert aside.forget(Kind.NODE_POOL, "default") == ObjectUnderstood(kind=Kind.NODE_POOL, about=POOL)
    assert aside.forget(Kind.NODE_POOL, "default") is None
    assert aside.note(BROKEN)


def test_another_object_of_the_same_name_is_news() -> None:
    aside = SetAside()
    aside.note(BROKEN)

    assert aside.note(replace(BROKEN, about=replace(POOL, uid="another")))


def test_a_full_list_ends_what_it_does_not_set_aside() -> None:
    aside, other = SetAside(), replace(BROKEN, key="other", about=replace(POOL, name="other"))
    aside.note(BROKEN)
    aside.note(other)

    ended = aside.compare(Resynced(revision=9, objects=(), set_aside=(other,)))

    assert ended == (ObjectUnderstood(kind=Kind.NODE_POOL, about=POOL),)
    assert len(aside) == 1


def test_people_are_warned_of_what_is_wrong() -> None:
    warning = warning_of(BROKEN)

    assert (warning.about, warning.reason, warning.warning) == (POOL, "FailedValidation", True)
    assert warning.message == BROKEN.problem
