from __future__ import annotations

from dataclasses import replace

from tests.builders import node_pool
from treenail.domain.cluster_facts import Kind, ObjectSetAside
from treenail.domain.events import ObjectRef
from treenail.domain.nodes import Status
from treenail.domain.set_aside import ObjectUnderstood, SetAside, condition_of, warning_of

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
    aside.forget(Kind.NODE_POOL, "default")

    assert aside.note(BROKEN)


def test_pools_show_a_condition_with_karpenters_reason_and_the_problem() -> None:
    condition = condition_of(BROKEN)

    assert condition is not None
    assert (condition.type, condition.status) == ("ValidationSucceeded", Status.FALSE)
    assert (condition.reason, condition.message) == ("NodePoolValidationFailed", BROKEN.problem)
    fine = condition_of(ObjectUnderstood(kind=Kind.NODE_POOL, about=POOL))
    assert fine is not None
    assert fine.status is Status.TRUE


def test_pods_show_no_condition_but_get_the_event_too() -> None:
    pod = replace(BROKEN, kind=Kind.POD, about=ObjectRef("Pod", "web", "default"))

    assert condition_of(pod) is None
    assert warning_of(pod).warning
    assert warning_of(pod).message == BROKEN.problem
