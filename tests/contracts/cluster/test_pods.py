from __future__ import annotations

from datetime import timedelta

import pytest

from tests.adapters.fake.cluster.builders import a_node, a_pod, a_spec
from tests.contracts.cluster.subject import Subject, running, the_pod, unbound
from treenail.domain.model.errors import ConflictError, NotFoundError, TooManyRequestsError
from treenail.domain.model.pod_budgets import PodDisruptionBudget, Portion
from treenail.domain.model.pods import LabelSelector


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


def test_a_pod_is_bound_to_a_node_that_nobody_knows(subject: Subject) -> None:
    """Whether there is such a node is the business of whoever binds."""
    subject.apply(unbound("web"))

    subject.writer.bind_pod("default", "web", uid=the_pod(subject, "web").uid, node="nowhere")

    assert the_pod(subject, "web").node_name == "nowhere"


def test_a_pod_with_a_gate_is_not_bound(subject: Subject) -> None:
    subject.apply(
        a_node("n-0"), a_pod("web", spec=a_spec(scheduler_name="nobody", scheduling_gates=("wait",)))
    )

    with pytest.raises(ConflictError):
        subject.writer.bind_pod("default", "web", uid=the_pod(subject, "web").uid, node="n-0")


def test_a_pod_of_two_budgets_is_not_evicted(subject: Subject) -> None:
    budgets = [
        PodDisruptionBudget(
            name=name, selector=LabelSelector(match_labels=(("app", "web"),)), min_available=Portion(0)
        )
        for name in ("one", "two")
    ]
    subject.apply(a_node("n-0"), running("web"), *budgets)
    subject.settle()

    with pytest.raises(TooManyRequestsError):
        subject.writer.evict_pod("default", "web", uid=the_pod(subject, "web").uid)


def test_a_pod_that_is_not_there_is_neither_evicted_nor_deleted(subject: Subject) -> None:
    with pytest.raises(NotFoundError):
        subject.writer.evict_pod("default", "nobody", uid="any")
    with pytest.raises(NotFoundError):
        subject.writer.delete_pod("default", "nobody", uid="any", grace_seconds=0)
